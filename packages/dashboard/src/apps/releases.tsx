import type { App, Release } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { Action } from "../ui/action.tsx";
import { command } from "../ui/copy-as.tsx";
import { Figures } from "../ui/figures.tsx";
import { Panel } from "../ui/panel.tsx";
import { requestOf } from "../ui/request-of.ts";
import { When } from "../ui/when.tsx";

interface ReleasesProps {
  readonly app: App;
  readonly releases: readonly Release[];
}

export function Releases({ app, releases }: ReleasesProps) {
  if (releases.length === 0) return null;
  return (
    <Panel title="Releases">
      <Figures
        label="Releases"
        headings={["Release", "Template", "Groups", "Made", ""]}
        rows={releases.map((one) => ({
          key: String(one.number),
          cells: [
            one.number === app.release ? <strong>{one.number}, live</strong> : one.number,
            <code>{one.template ?? "not built"}</code>,
            Object.keys(one.manifest.processes ?? {}).join(", "),
            <When at={one.created_at} />,
            one.template !== null && <Again app={app} number={one.number} />,
          ],
        }))}
      />
    </Panel>
  );
}

interface AgainProps extends Omit<ReleasesProps, "releases"> {
  readonly number: number;
}

function Again({ app, number }: AgainProps) {
  return (
    <Action
      label="Deploy again"
      of={`release ${number}`}
      needs="apps:write"
      request={requestOf("createDeploy", {
        at: [app.id],
        json: { release: number },
        cli: command("skerry rollback", String(number), "--app", app.name),
      })}
      run={async () => void (await skerry.apps.deploy(app.id, { release: number }))}
    />
  );
}
