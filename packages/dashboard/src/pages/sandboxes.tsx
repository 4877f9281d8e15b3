import { resources } from "../live/resources.ts";
import { useList } from "../live/use-list.ts";
import { skerry } from "../api.ts";
import { href, query } from "../router.ts";
import { Filter, ListPage } from "../ui/list-page.tsx";
import { StatusMark } from "../ui/status-mark.tsx";
import { shortId } from "../ui/text.ts";
import { When } from "../ui/when.tsx";
import { Why } from "../why/why.tsx";
import { vmFilter } from "../vm/vm-filter.ts";
import { Id } from "../ui/copy.tsx";
import type { SandboxFilter, SandboxInfo } from "@skerry/sdk";

const PAGE = 100;

const columns = [
  { name: "Name", width: "minmax(7rem, 2fr)", cell: ({ name, id }: SandboxInfo) => name ?? shortId(id) },
  { name: "Status", width: "7rem", cell: ({ status }: SandboxInfo) => <StatusMark status={status} /> },
  { name: "Id", width: "9rem", cell: ({ id }: SandboxInfo) => <Id id={id} short={shortId(id)} /> },
  { name: "Template", width: "5.5rem", cell: ({ template }: SandboxInfo) => template },
  { name: "Size", width: "7.5rem", cell: ({ size }: SandboxInfo) => size },
  { name: "Host", width: "5.5rem", cell: ({ host_id: host }: SandboxInfo) => hostName(host) },
  { name: "Created", width: "7rem", cell: (one: SandboxInfo) => <When at={one.created_at} /> },
  {
    name: "Ends, or why",
    width: "minmax(8rem, 2fr)",
    cell: (one: SandboxInfo) => (
      <>
        {one.status !== "running" && <Why kind="sandbox" of={one} />}
        {one.waits_for?.reason ?? one.reason ?? <Left sandbox={one} />}
      </>
    ),
  },
];

const words = {
  path: "/v1/sandboxes",
  command: "skerry sandbox list",
  method: "sandboxes.list",
  item: "sandbox",
};

export function View() {
  const { given, asked, hidesOwned, key, request } = vmFilter<SandboxFilter>(words);
  const list = useList({
    kind: "sandbox",
    key,
    takes: ({ status, template, owner }) =>
      status !== "destroyed" &&
      !(hidesOwned && owner !== null) &&
      (given["template"] ?? template) === template &&
      (given["status"] ?? status) === status,
    load: async (cursor, signal) => {
      const page = await skerry.sandboxes.page({ ...asked, limit: PAGE, cursor, counts: true }, { signal });
      return { ...page, items: page.items.map(({ info }) => info) };
    },
  });
  return (
    <ListPage
      title="Sandboxes"
      list={list}
      columns={columns}
      to={({ id }) => `/sandboxes/${id}`}
      request={request}
      empty={{
        what: query.value.size > 0 ? "No sandbox passes the filters." : "There are no sandboxes.",
        command: "skerry sandbox create base",
      }}
      actions={
        <a class="button primary" href={href("/sandboxes/new")}>
          New sandbox
        </a>
      }
    >
      <Filter name="q" label="Name or id begins with" />
      <Filter name="created_after" label="Made after" />
    </ListPage>
  );
}

function hostName(id: string | null) {
  if (id === null) return <span class="faint">–</span>;
  return resources.host.find(id)?.value?.name ?? shortId(id);
}

function Left({ sandbox }: { readonly sandbox: SandboxInfo }) {
  return sandbox.status === "paused" ? <span class="muted">paused</span> : <When at={sandbox.expires_at} />;
}
