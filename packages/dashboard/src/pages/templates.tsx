import { skerry } from "../api.ts";
import { useLoaded } from "../live/use-loaded.ts";
import { href } from "../router.ts";
import { call, CopyAs } from "../ui/copy-as.tsx";
import { Failure } from "../ui/failure.tsx";
import { Loading, Page } from "../ui/page.tsx";
import { Facts, Panel } from "../ui/panel.tsx";
import { StatusMark } from "../ui/status-mark.tsx";

const request = {
  method: "GET",
  path: "/v1/templates",
  cli: "skerry template list",
  typescript: call("templates.list"),
} as const;

export function View() {
  const { value, error, reload } = useLoaded("templates", (signal) => skerry.templates.list({ signal }));
  return (
    <Page title="Templates" name="Templates" actions={<CopyAs request={request} />}>
      {error !== undefined && <Failure error={error} retry={reload} />}
      {value === undefined && error === undefined && <Loading />}
      {value?.map(({ id, name, description, disk_gib: disk, status }) => (
        <Panel key={id} title={name} actions={<StatusMark status={status} />}>
          <p>{description}</p>
          <Facts
            facts={[
              ["Disk", `${disk} GiB`],
              [
                "Sandboxes",
                <a href={href(`/sandboxes?template=${encodeURIComponent(name)}`)}>Those that stand on it</a>,
              ],
            ]}
          />
        </Panel>
      ))}
    </Page>
  );
}
