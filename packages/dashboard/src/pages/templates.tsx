import type { Template } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { useList } from "../live/use-list.ts";
import { href, query } from "../router.ts";
import { versionName } from "../templates/version-name.ts";
import { Filter, ListPage } from "../ui/list-page.tsx";
import { StatusMark } from "../ui/status-mark.tsx";
import { bytesText } from "../ui/text.ts";
import { When } from "../ui/when.tsx";
import { requestOf } from "../ui/request-of.ts";

const columns = [
  { name: "Name", width: "minmax(8rem, 2fr)", cell: versionName },
  { name: "Status", width: "8rem", cell: ({ status }: Template) => <StatusMark status={status} /> },
  { name: "Tags", width: "minmax(8rem, 2fr)", cell: ({ tags }: Template) => tags.join(", ") },
  { name: "Disk", width: "5rem", cell: ({ disk_gib: disk }: Template) => `${disk} GiB` },
  {
    name: "Files",
    width: "6rem",
    cell: ({ bytes }: Template) => (bytes === null ? "built in" : bytesText(bytes)),
  },
  { name: "Made", width: "7rem", cell: ({ created_at: at }: Template) => <When at={at} /> },
  { name: "Description", width: "minmax(8rem, 3fr)", cell: descriptionOf },
];

/** While its image is not there, the reason in its place. */
function descriptionOf({ waits_for: waits, progress, description }: Template): string {
  return waits?.reason ?? progress ?? description;
}

const request = requestOf("listTemplates", { cli: "skerry template list" });

export function View() {
  const name = query.value.get("name") ?? "";
  const takes = (template: Template) => template.name.startsWith(name);
  const list = useList({
    kind: "template",
    key: name,
    takes,
    load: async (_cursor, signal) => ({
      items: (await skerry.templates.list({ signal })).filter(takes),
      next_cursor: null,
    }),
  });
  return (
    <ListPage
      title="Templates"
      list={list}
      columns={columns}
      to={({ id }) => `/templates/${id}`}
      request={request}
      empty={{
        what: name === "" ? "There are no templates yet." : "No template passes the filter.",
        command: "skerry template build . --name web",
      }}
      actions={
        <a class="button primary" href={href("/builds/new")}>
          Build
        </a>
      }
    >
      <Filter name="name" label="Name begins with" />
    </ListPage>
  );
}
