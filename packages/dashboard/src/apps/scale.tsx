import type { App, Release } from "@skerry/sdk";
import { SCALE_MAX } from "@skerry/contract/apps/app-bounds";
import { skerry } from "../api.ts";
import { resources } from "../live/resources.ts";
import { command } from "../ui/copy-as.tsx";
import { Form, type Given } from "../ui/form.tsx";
import { requestOf } from "../ui/request-of.ts";

interface ScaleProps {
  readonly app: App;
  readonly live: Release;
}

/** A field for each group of the live release. */
export function Scale({ app, live }: ScaleProps) {
  const groups = Object.keys(live.manifest.processes ?? {});
  const field = { description: "Instances that serve.", minimum: 0, maximum: SCALE_MAX };
  const scaleOf = (given: Given) =>
    Object.fromEntries(groups.map((group) => [group, Number(given[group] ?? countOf(app, group))]));
  return (
    <details class="more">
      <summary>Scale it</summary>
      <Form
        schema={{ properties: Object.fromEntries(groups.map((group) => [group, field])) }}
        labels={Object.fromEntries(groups.map((group) => [group, group]))}
        initial={Object.fromEntries(groups.map((group) => [group, String(countOf(app, group))]))}
        submit={["Scale", "Scaling…"]}
        of="the app"
        needs="apps:write"
        request={(given) => {
          const scale = scaleOf(given);
          const words = Object.entries(scale).map(([group, count]) => `${group}=${count}`);
          return requestOf("updateApp", {
            at: [app.id],
            json: { scale },
            cli: command("skerry app scale", app.name, ...words),
          });
        }}
        send={async (given) => {
          resources.app.put(await skerry.apps.update(app.id, { scale: scaleOf(given) }));
        }}
      />
    </details>
  );
}

function countOf({ scale }: App, group: string): number {
  return scale[group] ?? 1;
}
