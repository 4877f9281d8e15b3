import type { App } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { AppLog } from "../apps/app-log.tsx";
import { collected } from "../apps/collected.ts";
import { Environment } from "../apps/environment.tsx";
import { LastDeploy } from "../apps/last-deploy.tsx";
import { Releases } from "../apps/releases.tsx";
import { Scale } from "../apps/scale.tsx";
import { Ways } from "../apps/ways.tsx";
import { useLoaded } from "../live/use-loaded.ts";
import { go, href, type Params } from "../router.ts";
import { Action } from "../ui/action.tsx";
import { command, CopyAs } from "../ui/copy-as.tsx";
import { Copy } from "../ui/copy.tsx";
import { Empty, Page } from "../ui/page.tsx";
import { requestOf } from "../ui/request-of.ts";
import { StatusMark } from "../ui/status-mark.tsx";
import { Waiting } from "../ui/waiting.tsx";
import { When } from "../ui/when.tsx";

/** A deploy takes seconds. */
const EVERY_MS = 1_000;

export function View({ params: { id = "" } }: { readonly params: Params }) {
  const app = useLoaded(`app ${id}`, (signal) => skerry.apps.get(id, { signal }), { everyMs: EVERY_MS });
  const number = app.value?.deploy?.release ?? 0;
  const releases = useLoaded(`releases of ${id} to ${number}`, (signal) =>
    collected(skerry.apps.releases(id, { signal })),
  );
  const above = <a href={href("/apps")}>Apps</a>;
  const { value } = app;
  if (value === undefined)
    return (
      <Page title={above} name={id}>
        <Waiting of={app}>{null}</Waiting>
      </Page>
    );
  const live = releases.value?.find((one) => one.number === value.release);
  return (
    <Page
      name={value.name}
      title={
        <>
          {above} / {value.name} <StatusMark status={value.status} />
        </>
      }
      actions={<Actions app={value} />}
    >
      <p class="muted">
        {value.url === null ? "no address" : <a href={value.url}>{value.url}</a>} · <code>{value.id}</code>{" "}
        <Copy text={value.id} label="the id" /> created <When at={value.created_at} />
      </p>
      {value.deploy === null && (
        <Empty
          what="It runs nothing before its first deploy."
          command={`skerry deploy --app ${value.name}`}
        />
      )}
      <LastDeploy app={value} reload={app.reload} />
      <Ways app={value} live={live}>
        {live !== undefined && <Scale app={value} live={live} reload={app.reload} />}
      </Ways>
      {value.deploy !== null && <AppLog app={value} />}
      <Releases app={value} releases={releases.value ?? []} reload={app.reload} />
      <Environment app={value} live={live} />
    </Page>
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
