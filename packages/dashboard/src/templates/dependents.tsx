import type { Template } from "@skerry/sdk";
import { useLoaded } from "../live/use-loaded.ts";
import { href } from "../router.ts";
import { Panel } from "../ui/panel.tsx";
import { nameOf } from "../ui/text.ts";
import { Waiting } from "../ui/waiting.tsx";
import { readDependents, type Dependent } from "./read-dependents.ts";

/** What was made of a template and is there. */
export function Dependents({ template }: { readonly template: Template }) {
  const found = useLoaded(`dependents ${template.id}`, (signal) => readDependents(template, signal));
  return (
    <Panel title="What stands on it">
      <Waiting of={found}>
        {found.value?.items.length === 0 && <p class="muted">Nothing.</p>}
        <ul class="plain">
          {found.value?.items.map((one) => (
            <li key={one.id}>
              {one.noun} <a href={href(addressOf(one))}>{nameOf(one)}</a>
            </li>
          ))}
        </ul>
        {found.value?.hasMore === true && <p class="help">And more than are shown here.</p>}
      </Waiting>
    </Panel>
  );
}

/** All snapshots are on one page. */
function addressOf({ noun, id }: Dependent): string {
  if (noun === "snapshot") return "/snapshots";
  return noun === "sandbox" ? `/sandboxes/${id}` : `/machines/${id}`;
}
