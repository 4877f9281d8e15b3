import { useSignal } from "@preact/signals";
import type { AuditEvent, AuditFilter } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { useLoaded } from "../live/use-loaded.ts";
import { CopyAs } from "../ui/copy-as.tsx";
import { listRequest } from "../ui/request-of.ts";
import { Failure } from "../ui/failure.tsx";
import { Filter, filtersOf } from "../ui/list-page.tsx";
import { Empty, Loading, Page } from "../ui/page.tsx";
import { StatusMark } from "../ui/status-mark.tsx";
import { shortId } from "../ui/text.ts";
import { When } from "../ui/when.tsx";

const PAGE = 100;

const flagOf = { resource_id: "resource", user_id: "user" };

export function View() {
  const filter = filtersOf("action", "resource_id", "user_id");
  const asked: AuditFilter = filter;
  const search = new URLSearchParams(filter).toString();
  const cursors = useSignal<readonly string[]>([]);
  const cursor = cursors.value.at(-1);
  const { value, error, reload } = useLoaded(`audit ${search} ${cursor ?? ""}`, (signal) =>
    skerry.audit.page({ ...asked, limit: PAGE, cursor }, { signal }),
  );
  const next = value?.next_cursor ?? undefined;
  return (
    <Page
      title="Audit log"
      name="Audit log"
      actions={<CopyAs request={listRequest("listAudit", "skerry audit list", filter, flagOf)} />}
    >
      <div class="filters">
        <Filter name="action" label="Action" />
        <Filter name="resource_id" label="Resource id" />
        <Filter name="user_id" label="User id" />
        <div class="actions">
          <button
            type="button"
            disabled={cursor === undefined}
            onClick={() => (cursors.value = cursors.value.slice(0, -1))}
          >
            Newer
          </button>
          <button
            type="button"
            disabled={next === undefined}
            onClick={() => (cursors.value = [...cursors.value, next ?? ""])}
          >
            Older
          </button>
        </div>
      </div>
      {error !== undefined && <Failure error={error} retry={reload} />}
      {value === undefined && error === undefined && <Loading />}
      {value !== undefined && <Events events={value.items} />}
    </Page>
  );
}

function Events({ events }: { readonly events: readonly AuditEvent[] }) {
  if (events.length === 0) return <Empty what="Nothing passes the filters." />;
  return (
    <div class="wide" tabIndex={0} role="region" aria-label="Events">
      <table class="figures">
        <thead>
          <tr>
            {["Time", "Who", "Action", "Resource", "Outcome", "From"].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {events.map((event) => (
            <tr key={event.id}>
              <td>
                <When at={event.at} />
              </td>
              <td title={event.actor.user_id ?? undefined}>
                {event.actor.service ?? event.actor.user_name ?? shortId(event.actor.user_id ?? "–")}
              </td>
              <td>
                {event.action}
                {event.count > 1 && ` × ${event.count}`}
              </td>
              <td title={event.resource.id ?? undefined}>
                <Resource resource={event.resource} />
              </td>
              <td>
                <StatusMark status={event.outcome} />
                {event.code !== null && <span class="muted"> {event.code}</span>}
              </td>
              <td>{event.actor.address ?? "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Resource({ resource: { kind, id, name } }: { readonly resource: AuditEvent["resource"] }) {
  if (name != null) return `${kind} ${name}`;
  return id === null ? kind : <code>{shortId(id)}</code>;
}
