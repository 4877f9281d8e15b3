import type { App } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { AppLog } from "../apps/app-log.tsx";
import { collected } from "../apps/collected.ts";
import { Environment } from "../apps/environment.tsx";
import { LastDeploy } from "../apps/last-deploy.tsx";
import { Releases } from "../apps/releases.tsx";
import { Scale } from "../apps/scale.tsx";
import { Ways } from "../apps/ways.tsx";
import { resources } from "../live/resources.ts";
import { useLoaded } from "../live/use-loaded.ts";
import { go, type Params } from "../router.ts";
import { Action } from "../ui/action.tsx";
import { command, CopyAs } from "../ui/copy-as.tsx";
import { Copy } from "../ui/copy.tsx";
import { DetailPage } from "../ui/detail-page.tsx";
import { Empty } from "../ui/page.tsx";
import { requestOf } from "../ui/request-of.ts";
import { When } from "../ui/when.tsx";

export function View({ params: { id = "" } }: { readonly params: Params }) {
  return (
    <DetailPage
      id={id}
      read={async (asked, signal) => resources.app.put(await skerry.apps.get(asked, { signal }))}
      list={{ path: "/apps", title: "Apps" }}
      nameOf={({ name }) => name}
      actions={(app) => <Actions app={app} />}
    >
      {(app) => <Content app={app} />}
    </DetailPage>
  );
}

function Content({ app }: { readonly app: App }) {
  const { id, deploy, name, release, url } = app;
  const releases = useLoaded(`releases of ${id} to ${deploy?.release ?? 0}`, (signal) =>
    collected(skerry.apps.releases(id, { signal })),
  );
  const live = releases.value?.find((one) => one.number === release);
  return (
    <>
      <p class="muted">
        {url === null ? "no address" : <a href={url}>{url}</a>} · <code>{id}</code>{" "}
        <Copy text={id} label="the id" /> created <When at={app.created_at} />
      </p>
      {deploy === null && (
        <Empty what="It runs nothing before its first deploy." command={`skerry deploy --app ${name}`} />
      )}
      <LastDeploy app={app} />
      <Ways app={app} live={live}>
        {live !== undefined && <Scale app={app} live={live} />}
      </Ways>
      {deploy !== null && <AppLog app={app} />}
      <Releases app={app} releases={releases.value ?? []} />
      <Environment app={app} live={live} />
    </>
  );
}

function Actions({ app: { id, name, status } }: { readonly app: App }) {
  return (
    <>
      <CopyAs request={requestOf("getApp", { at: [id], cli: command("skerry app show", name) })} />
      {status !== "deleting" && (
        <Action
          label="Delete the app"
          danger
          needs="apps:write"
          confirm="Its instances finish the requests that they have, and end. Its releases, routes and secrets go with it."
          request={requestOf("deleteApp", { at: [id], cli: command("skerry app destroy", name) })}
          run={async () => {
            await skerry.apps.delete(id);
            go("/apps");
          }}
        />
      )}
    </>
  );
}
