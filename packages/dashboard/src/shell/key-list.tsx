import { Dialog } from "./dialog.tsx";
import { places } from "./keys.ts";
import { isHelpOpen } from "./open-dialogs.ts";

export function KeyList() {
  return (
    <Dialog label="Keys" isOpen={isHelpOpen}>
      <h2>Keys</h2>
      <dl class="facts">
        <Key keys="⌘ K or Ctrl K" what="Jump to a page or to an id" />
        <Key keys="/" what="Filter the list" />
        <Key keys="?" what="This list" />
        {Object.entries(places).map(([key, [, name]]) => (
          <Key key={key} keys={`g ${key}`} what={name} />
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </Dialog>
  );
}

function Key({ keys, what }: { readonly keys: string; readonly what: string }) {
  return (
    <div>
      <dt>
        <kbd>{keys}</kbd>
      </dt>
      <dd>{what}</dd>
    </div>
  );
}
