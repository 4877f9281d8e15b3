import type { App } from "@skerry/sdk";
import { schema } from "openapi:AppCreateRequest";
import { skerry } from "../api.ts";
import { servingText } from "../apps/serving.ts";
import { useAll } from "../live/use-all.ts";
import { go, href } from "../router.ts";
import { command, CopyAs } from "../ui/copy-as.tsx";
import { Form } from "../ui/form.tsx";
import { Empty, Page } from "../ui/page.tsx";
import { Figures } from "../ui/figures.tsx";
import { requestOf } from "../ui/request-of.ts";
import { StatusMark } from "../ui/status-mark.tsx";
import { Waiting } from "../ui/waiting.tsx";
import { When } from "../ui/when.tsx";

export function View() {
  const apps = useAll("app", (signal) => skerry.apps.list({ signal }));
  const request = requestOf("listApps", { cli: "skerry app list" });
  return (
    <Page title="Apps" name="Apps" actions={<CopyAs request={request} />}>
      <Waiting of={apps}>
        {apps.value?.length === 0 && (
          <Empty what="There are no apps. A folder becomes one:" command="skerry launch" />
        )}
        {apps.value !== undefined && apps.value.length > 0 && <List apps={apps.value} />}
        <details class="more">
          <summary>Create an app</summary>
          <Form
            schema={schema}
            labels={{ name: "Name" }}
            submit={["Create", "Creating…"]}
            of="the app"
            needs="apps:write"
            request={({ name = "NAME" }) =>
              requestOf("createApp", { json: { name }, cli: command("skerry app create", name) })
            }
            send={async ({ name = "" }) => go(`/apps/${(await skerry.apps.create({ name })).id}`)}
          />
        </details>
      </Waiting>
    </Page>
  );
}

function List({ apps }: { readonly apps: readonly App[] }) {
  return (
    <Figures
      label="Apps"
      headings={["Name", "Address", "Release", "Last deploy", "Instances", "Created"]}
      rows={apps.map((app) => ({
        key: app.id,
        cells: [
          <a href={href(`/apps/${app.id}`)}>{app.name}</a>,
          app.url === null ? "none" : <a href={app.url}>{app.url}</a>,
          app.release ?? "none",
          app.deploy === null ? "none" : <StatusMark status={app.deploy.status} />,
          servingText(app),
          <When at={app.created_at} />,
        ],
      }))}
    />
  );
}
