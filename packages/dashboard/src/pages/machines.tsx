import type { Machine, MachineFilter } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { useList } from "../live/use-list.ts";
import { href, query } from "../router.ts";
import { Filter, ListPage } from "../ui/list-page.tsx";
import { StatusMark } from "../ui/status-mark.tsx";
import { shortId } from "../ui/text.ts";
import { When } from "../ui/when.tsx";
import { Why } from "../why/why.tsx";
import { vmFilter } from "../vm/vm-filter.ts";
import { Id } from "../ui/copy.tsx";

const PAGE = 100;

const columns = [
  { name: "Name", width: "minmax(7rem, 2fr)", cell: ({ name, id }: Machine) => name ?? shortId(id) },
  { name: "Status", width: "7rem", cell: ({ status }: Machine) => <StatusMark status={status} /> },
  { name: "Id", width: "9rem", cell: ({ id }: Machine) => <Id id={id} short={shortId(id)} /> },
  { name: "Template", width: "6rem", cell: ({ template }: Machine) => template },
  { name: "Size", width: "8rem", cell: ({ size }: Machine) => size },
  { name: "Restarts", width: "4rem", cell: ({ restarts }: Machine) => restarts },
  { name: "Created", width: "7rem", cell: (one: Machine) => <When at={one.created_at} /> },
  {
    name: "Why",
    width: "minmax(8rem, 2fr)",
    cell: (one: Machine) => (
      <>
        {(one.status !== "running" || one.restarts > 0) && <Why kind="machine" of={one} />}
        {one.waits_for?.reason ?? one.reason}
      </>
    ),
  },
];

const words = {
  path: "/v1/machines",
  command: "skerry machine list",
  method: "machines.list",
  item: "machine",
};

export function View() {
  const { given, asked, hidesOwned, key, request } = vmFilter<MachineFilter>(words);
  const list = useList({
    kind: "machine",
    key,
    takes: ({ status, owner }) =>
      status !== "destroyed" && (given["status"] ?? status) === status && !(hidesOwned && owner !== null),
    load: (cursor, signal) =>
      skerry.machines.page({ ...asked, limit: PAGE, cursor, counts: true }, { signal }),
  });
  return (
    <ListPage
      title="Machines"
      list={list}
      columns={columns}
      to={({ id }) => `/machines/${id}`}
      request={request}
      empty={{
        what: query.value.size > 0 ? "No machine passes the filters." : "There are no machines.",
        command: "skerry machine create base",
      }}
      actions={
        <a class="button primary" href={href("/machines/new")}>
          New machine
        </a>
      }
    >
      <Filter name="q" label="Name or id begins with" />
      <Filter name="created_after" label="Made after" />
    </ListPage>
  );
}
