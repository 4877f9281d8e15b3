import { useLoaded } from "../live/use-loaded.ts";
import { Failure } from "../ui/failure.tsx";
import { Loading } from "../ui/page.tsx";
import { Panel } from "../ui/panel.tsx";
import { When } from "../ui/when.tsx";
import type { VmKind } from "./vm-kind.ts";

const LOOK_EVERY_MS = 5_000;
const LIMIT = 100;

/** What has happened to it, newest first. */
export function Events({ vm, id }: { readonly vm: VmKind; readonly id: string }) {
  const { value, error } = useLoaded(
    `events ${id}`,
    (signal) => vm.calls.events(id, { limit: LIMIT }, { signal }),
    {
      everyMs: LOOK_EVERY_MS,
    },
  );
  if (value === undefined) return error === undefined ? <Loading /> : <Failure error={error} />;
  return (
    <Panel title="Events">
      <ol class="events">
        {value.items.map((event) => (
          <li key={event.id}>
            <strong>{event.kind.replaceAll("_", " ")}</strong>
            {event.count > 1 && ` × ${event.count}`}
            <span class="muted">
              {" "}
              <When at={event.last_at} />
            </span>
            {event.reason !== null && <p>{event.reason}</p>}
          </li>
        ))}
      </ol>
    </Panel>
  );
}
