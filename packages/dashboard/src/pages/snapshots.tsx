// Snapshots as the tree that they are: each below the one that its guest came from.

import type { Snapshot } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { useList } from "../live/use-list.ts";
import { go, href } from "../router.ts";
import { Action } from "../ui/action.tsx";
import { call, command, CopyAs } from "../ui/copy-as.tsx";
import { Failure } from "../ui/failure.tsx";
import { Newer } from "../ui/list-page.tsx";
import { Empty, Loading, Page } from "../ui/page.tsx";
import { StatusMark } from "../ui/status-mark.tsx";
import { bytesText, nameOf, shortId } from "../ui/text.ts";
import { When } from "../ui/when.tsx";
import { Why } from "../why/why.tsx";
import { snapshotsRequest } from "../vm/vm-requests.ts";
import { requestOf } from "../ui/request-of.ts";

const SHOWN_MAX = 500;

export function View() {
  const list = useList({
    kind: "snapshot",
    key: "all",
    takes: () => true,
    load: (cursor, signal) => skerry.snapshots.page({ limit: SHOWN_MAX, cursor }, { signal }),
  });
  const { rows } = list;
  const found = rows.flatMap(({ value }) => (value === null ? [] : [value]));
  const known = new Set(found.map(({ id }) => id));
  const roots = found.filter(({ parent_id: parent }) => parent === null || !known.has(parent));
  const isEmpty = found.length === 0 && !list.isLoading && list.error === undefined;
  return (
    <Page title="Snapshots" name="Snapshots" actions={<CopyAs request={snapshotsRequest()} />}>
      {list.error !== undefined && <Failure error={list.error} retry={list.reload} />}
      <Newer list={list} />
      {list.isLoading && found.length === 0 && <Loading />}
      {isEmpty && <Empty what="There are no snapshots." command="skerry sandbox snapshot ID" />}
      {roots.length > 0 && <Branches of={roots} among={found} />}
      {list.hasMore && (
        <button type="button" onClick={list.loadMore}>
          More
        </button>
      )}
    </Page>
  );
}

interface BranchesProps {
  readonly of: readonly Snapshot[];
  readonly among: readonly Snapshot[];
}

function Branches({ of, among }: BranchesProps) {
  return (
    <ul class="tree">
      {of.map((snapshot) => (
        <Branch key={snapshot.id} snapshot={snapshot} among={among} />
      ))}
    </ul>
  );
}

function Branch({ snapshot, among }: { readonly snapshot: Snapshot; readonly among: readonly Snapshot[] }) {
  const {
    id,
    status,
    sandbox_id: sandbox,
    machine_id: machine,
    memory_bytes: memory,
    disk_bytes: disk,
  } = snapshot;
  const from = sandbox ?? machine;
  const children = among.filter(({ parent_id: parent }) => parent === id);
  return (
    <li>
      <strong>{nameOf(snapshot)}</strong> <StatusMark status={status} /> <Why kind="snapshot" of={snapshot} />{" "}
      <span class="muted">
        {snapshot.template} · {snapshot.size} · {bytesText((memory ?? 0) + (disk ?? 0))} ·{" "}
        <When at={snapshot.created_at} />
        {from !== null && (
          <>
            {" · of "}
            <a href={href(sandbox === null ? `/machines/${from}` : `/sandboxes/${from}`)}>{shortId(from)}</a>
          </>
        )}
      </span>{" "}
      {snapshot.reason !== null && <span class="fault">{snapshot.reason}</span>}{" "}
      {status === "ready" && sandbox !== null && (
        <Action
          label="New sandbox"
          of={`of ${nameOf(snapshot)}`}
          request={{
            method: "POST",
            path: "/v1/sandboxes",
            json: { snapshot: id },
            cli: command("skerry sandbox create --snapshot", id),
            typescript: call("sandboxes.create", { snapshot: id }),
          }}
          needs="sandboxes:write"
          run={async () => go(`/sandboxes/${(await skerry.sandboxes.create({ snapshot: id })).id}`)}
        />
      )}{" "}
      <Action
        label="Delete"
        of={nameOf(snapshot)}
        request={requestOf("deleteSnapshot", { at: [id], cli: command("skerry snapshot delete", id) })}
        danger
        needs={sandbox === null ? "machines:write" : "sandboxes:write"}
        confirm="What was made of it stays; nothing can begin at it any more."
        run={() => skerry.snapshots.delete(id)}
      />
      {children.length > 0 && <Branches of={children} among={among} />}
    </li>
  );
}
