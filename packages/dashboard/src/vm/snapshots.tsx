// The snapshots that it can go back to, and what is lost where it does.

import type { Snapshot } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { nowMs } from "../clock.ts";
import { useList } from "../live/use-list.ts";
import { href } from "../router.ts";
import { Action } from "../ui/action.tsx";
import { call, command } from "../ui/copy-as.tsx";
import { Failure } from "../ui/failure.tsx";
import { Newer } from "../ui/list-page.tsx";
import { Loading } from "../ui/page.tsx";
import { Panel } from "../ui/panel.tsx";
import { StatusMark } from "../ui/status-mark.tsx";
import { bytesText, durationText, nameOf, shortId } from "../ui/text.ts";
import { When } from "../ui/when.tsx";
import type { VmKind } from "./vm-kind.ts";
import type { AnyVm } from "./vm-tabs.tsx";

const SHOWN_MAX = 500;

interface SnapshotsProps {
  readonly kind: VmKind;
  readonly vm: AnyVm;
}

export function Snapshots({ kind, vm }: SnapshotsProps) {
  const fits = (snapshot: Snapshot) => isFor(snapshot, kind, vm);
  const list = useList({
    kind: "snapshot",
    key: `for ${vm.id}`,
    takes: fits,
    load: (cursor, signal) => skerry.snapshots.page({ of: kind.noun, limit: SHOWN_MAX, cursor }, { signal }),
  });
  const found = list.rows.flatMap(({ value }) => (value !== null && fits(value) ? [value] : []));
  const own = found.filter((one) => kind.takenOf(one) === vm.id);
  const others = found.filter((one) => kind.takenOf(one) !== vm.id);
  return (
    <>
      {list.error !== undefined && <Failure error={list.error} retry={list.reload} />}
      <Newer list={list} />
      <Panel title={`Taken of this ${kind.noun}`}>
        {list.isLoading && own.length === 0 && <Loading />}
        {!list.isLoading && own.length === 0 && (
          <p class="muted">None yet. A snapshot keeps its memory and its disk as they are at that moment.</p>
        )}
        <Lines snapshots={own} {...{ kind, vm }} />
      </Panel>
      {others.length > 0 && (
        <Panel title="Of others, with the same template and size">
          <Lines snapshots={others} {...{ kind, vm }} />
        </Panel>
      )}
      {list.hasMore && (
        <button type="button" onClick={list.loadMore}>
          More
        </button>
      )}
    </>
  );
}

/** What is of another template or size, or of another main process, nothing can be rolled back to. */
function isFor(snapshot: Snapshot, kind: VmKind, vm: AnyVm): boolean {
  const isSame = snapshot.template === vm.template && snapshot.size === vm.size;
  const command = "command" in vm ? vm.command : null;
  return kind.takenOf(snapshot) !== null && isSame && snapshot.command === command;
}

function Lines({ snapshots, kind, vm }: SnapshotsProps & { readonly snapshots: readonly Snapshot[] }) {
  return (
    <ul class="plain">
      {snapshots.map((snapshot) => (
        <Line key={snapshot.id} {...{ snapshot, kind, vm }} />
      ))}
    </ul>
  );
}

function Line({ snapshot, kind, vm }: SnapshotsProps & { readonly snapshot: Snapshot }) {
  const { id, status, memory_bytes: memory, disk_bytes: disk, created_at: at } = snapshot;
  const from = kind.takenOf(snapshot);
  return (
    <li>
      <strong>{nameOf(snapshot)}</strong> <StatusMark status={status} />{" "}
      <span class="muted">
        {bytesText((memory ?? 0) + (disk ?? 0))} · <When at={at} />
        {from !== null && from !== vm.id && (
          <>
            {" · of "}
            <a href={href(`${kind.path}/${from}`)}>{shortId(from)}</a>
          </>
        )}
      </span>{" "}
      {snapshot.reason !== null && <span class="fault">{snapshot.reason}</span>}{" "}
      {status === "ready" && vm.status !== "destroyed" && (
        <Action
          label="Roll back"
          of={`to ${nameOf(snapshot)}`}
          danger
          needs={kind.writeScope}
          confirm={lossOf(snapshot, kind, vm)}
          run={() => kind.rollback(vm.id, id)}
          request={{
            method: "POST",
            path: `/v1${kind.path}/${vm.id}/rollback`,
            json: { snapshot: id },
            cli: command(`skerry ${kind.noun} rollback`, vm.id, id),
            typescript: call(`${kind.path.slice(1)}.rollback`, vm.id, id),
          }}
        />
      )}
    </li>
  );
}

/** What is lost, for the person who is about to decide it. */
function lossOf(snapshot: Snapshot, kind: VmKind, vm: AnyVm): string {
  const who = nameOf(vm);
  const which = nameOf(snapshot);
  const lost =
    kind.takenOf(snapshot) === vm.id
      ? `What has changed in its memory and on its disk in the ${durationText(nowMs.value - Date.parse(snapshot.created_at))} since then is lost`
      : "All of its memory and its disk is lost, and those of the snapshot take their place";
  return `${who} goes back to ${which}. ${lost}, and the commands that run in it end. A snapshot of it as it is now would keep that.`;
}
