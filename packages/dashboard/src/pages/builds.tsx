import type { Build, BuildFilter } from "@skerry/sdk";
import { buildStatuses } from "@skerry/contract/builds/build-status";
import { skerry } from "../api.ts";
import { tookOf } from "../builds/took.tsx";
import { useList } from "../live/use-list.ts";
import { href, query } from "../router.ts";
import { listRequest } from "../ui/request-of.ts";
import { Id } from "../ui/copy.tsx";
import { Choice, Filter, filtersOf, ListPage } from "../ui/list-page.tsx";
import { StatusMark } from "../ui/status-mark.tsx";
import { shortId } from "../ui/text.ts";
import { When } from "../ui/when.tsx";
import { Why } from "../why/why.tsx";

const PAGE = 100;

const columns = [
  { name: "Id", width: "9rem", cell: ({ id }: Build) => <Id id={id} short={shortId(id)} /> },
  { name: "Template", width: "minmax(8rem, 2fr)", cell: ({ name, tag }: Build) => `${name}:${tag}` },
  {
    name: "Status",
    width: "10rem",
    cell: (build: Build) => (
      <>
        <StatusMark status={build.status} /> <Why kind="build" of={{ ...build, name: shortId(build.id) }} />
      </>
    ),
  },
  { name: "Step", width: "5rem", cell: stepText },
  { name: "Begun", width: "7rem", cell: ({ created_at: at }: Build) => <When at={at} /> },
  { name: "Took", width: "7rem", cell: tookOf },
  {
    name: "Why",
    width: "minmax(8rem, 3fr)",
    cell: ({ error, waits_for: waits }: Build) => error?.message ?? waits?.reason ?? "",
  },
];

export function View() {
  const filter = filtersOf("status", "name");
  // The address can say anything; the server refuses what is no filter.
  const asked = filter as BuildFilter;
  const list = useList({
    kind: "build",
    key: new URLSearchParams(filter).toString(),
    takes: ({ status, name }) => (asked.status ?? status) === status && (asked.name ?? name) === name,
    load: (cursor, signal) => skerry.builds.page({ ...asked, limit: PAGE, cursor }, { signal }),
  });
  return (
    <ListPage
      title="Builds"
      list={list}
      columns={columns}
      to={({ id }) => `/builds/${id}`}
      request={listRequest("listBuilds", "skerry build list", filter)}
      empty={{
        what: query.value.size > 0 ? "No build passes the filters." : "Nothing has been built yet.",
        command: "skerry template build . --name web",
      }}
      actions={
        <a class="button primary" href={href("/builds/new")}>
          Build
        </a>
      }
    >
      <Filter name="name" label="Template" />
      <Choice name="status" label="Status" options={buildStatuses} />
    </ListPage>
  );
}

/** How far it is: `3 of 7`. */
function stepText({ steps }: Build): string {
  const begun = steps.filter(({ status }) => status !== "waiting").length;
  return steps.length === 0 ? "" : `${begun} of ${steps.length}`;
}
