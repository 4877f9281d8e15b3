// Where capacity goes: all hosts together, and each as a bar of what it has promised with what travels below it.

import { skerry } from "../api.ts";
import { Capacity } from "../hosts/capacity.tsx";
import { HostPanel } from "../hosts/host-panel.tsx";
import { useList } from "../live/use-list.ts";
import { useLoaded } from "../live/use-loaded.ts";
import { useMoves } from "../live/use-moves.ts";
import { query, setQuery } from "../router.ts";
import { CopyAs } from "../ui/copy-as.tsx";
import { listRequest } from "../ui/request-of.ts";
import { Failure } from "../ui/failure.tsx";
import { Empty, Loading, Page } from "../ui/page.tsx";
import { countText } from "../ui/text.ts";

const SHOWN_MAX = 500;
/** What a host has promised and used changes without an event of the host. */
const LOOK_EVERY_MS = 10_000;

const request = listRequest("listHosts", "skerry host list");

export function View() {
  const hosts = useList({
    kind: "host",
    key: "all",
    takes: () => true,
    load: (cursor, signal) => skerry.hosts.page({ limit: SHOWN_MAX, cursor }, { signal }),
    everyMs: LOOK_EVERY_MS,
  });
  const moves = useMoves();
  const sizes = useLoaded("sizes", (signal) => skerry.sizes.list({ signal })).value;
  const wanted = query.value.get("status");
  const all = hosts.rows.flatMap(({ value }) => (value === null ? [] : [value]));
  const shown = all.filter(({ status }) => wanted === null || status === wanted);
  return (
    <Page title="Hosts" name="Hosts" actions={<CopyAs request={request} />}>
      {hosts.error !== undefined && <Failure error={hosts.error} retry={hosts.reload} />}
      {moves.error !== undefined && <Failure error={moves.error} />}
      {wanted !== null && (
        <p>
          <button type="button" onClick={() => setQuery({ status: undefined })}>
            Only {wanted} ×
          </button>
        </p>
      )}
      {hosts.isLoading && shown.length === 0 && <Loading />}
      {!hosts.isLoading && hosts.error === undefined && shown.length === 0 && (
        <Empty
          what={wanted === null ? "There are no hosts." : "No host passes the filter."}
          command="skerry host token"
        />
      )}
      {hosts.newer > 0 && (
        <button type="button" class="newer" onClick={hosts.reload}>
          {countText(hosts.newer)} new
        </button>
      )}
      {all.length > 1 && <Capacity hosts={all} sizes={sizes} />}
      {shown.map((host) => (
        <HostPanel key={host.id} host={host} moves={moves.all} sizes={sizes} />
      ))}
    </Page>
  );
}
