// The last deploy of an app, status by status.

import type { App, Deploy } from "@skerry/sdk";
import { isDeployOver } from "@skerry/contract/apps/deploy-status";
import { skerry } from "../api.ts";
import { href } from "../router.ts";
import { Action } from "../ui/action.tsx";
import { Panel } from "../ui/panel.tsx";
import { requestOf } from "../ui/request-of.ts";
import { StatusMark } from "../ui/status-mark.tsx";
import { printable, shortId } from "../ui/text.ts";
import { When } from "../ui/when.tsx";

const way = [
  "queued",
  "building",
  "releasing",
  "starting",
  "checking",
  "switching",
  "draining",
  "live",
] as const;

export function LastDeploy({ app }: { readonly app: App }) {
  const { deploy } = app;
  if (deploy === null) return null;
  const { id, release, status, build_id: build } = deploy;
  return (
    <Panel
      title={`Deploy of release ${release}`}
      actions={
        !isDeployOver(status) && (
          <Action
            label="Cancel the deploy"
            danger
            needs="apps:write"
            confirm="What it has started is ended, and the release before goes on."
            request={requestOf("cancelDeploy", { at: [app.id, id] })}
            run={async () => void (await skerry.apps.cancelDeploy(app.id, id))}
          />
        )
      }
    >
      <Way status={status} />
      <p class="muted">
        <StatusMark status={status} /> · <code>{id}</code> · begun <When at={deploy.created_at} />
        {deploy.finished_at !== null && (
          <>
            {" "}
            · over <When at={deploy.finished_at} />
          </>
        )}
        {build !== null && (
          <>
            {" "}
            · build <a href={href(`/builds/${build}`)}>{shortId(build)}</a>
          </>
        )}
      </p>
      <Reason reason={deploy.reason} />
    </Panel>
  );
}

/** How far it has come. Where it has failed nothing says at which of them. */
function Way({ status }: Pick<Deploy, "status">) {
  const at = way.findIndex((one) => one === status);
  if (at < 0) return null;
  return (
    <ol class="way" aria-label="Statuses">
      {way.map((one, index) => (
        <li
          key={one}
          class={index < at ? "past" : ""}
          {...(index === at ? { "aria-current": "step" as const } : {})}
        >
          {one}
        </li>
      ))}
    </ol>
  );
}

function Reason({ reason }: Pick<Deploy, "reason">) {
  if (reason === null) return null;
  return (
    <div class="failure" role="alert">
      <p>
        <strong>{reason.message}</strong> <code>{reason.code}</code>{" "}
        {reason.instance !== null && <a href={href(`/machines/${reason.instance}`)}>Its machine</a>}
      </p>
      {reason.last_lines.length > 0 && (
        <pre class="log" tabIndex={0} aria-label="Its last lines">
          {reason.last_lines.map(printable).join("\n")}
        </pre>
      )}
    </div>
  );
}
