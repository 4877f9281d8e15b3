// Newest lines of all instances of an app, searched by the server.

import type { App } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { useLoaded } from "../live/use-loaded.ts";
import { query } from "../router.ts";
import { call, command, CopyAs, withQuery } from "../ui/copy-as.tsx";
import { Filter } from "../ui/list-page.tsx";
import { Panel } from "../ui/panel.tsx";
import { printable } from "../ui/text.ts";
import { Waiting } from "../ui/waiting.tsx";

const EVERY_MS = 3_000;
const LINES = 200;

export function AppLog({ app }: { readonly app: App }) {
  const grep = query.value.get("grep") ?? "";
  const asked = { lines: LINES, ...(grep !== "" && { grep }) };
  const log = useLoaded(
    `log of ${app.id} ${grep}`,
    (signal) => skerry.apps.logs(app.id, { ...asked, signal }),
    {
      everyMs: EVERY_MS,
    },
  );
  const words = grep === "" ? [] : ["--grep", grep];
  const request = {
    method: "GET" as const,
    path: withQuery(`/v1/apps/${app.id}/logs`, asked),
    cli: command("skerry logs --app", app.name, "--lines", String(LINES), ...words),
    typescript: call("apps.logs", app.id, asked),
  };
  return (
    <Panel title="Log" actions={<CopyAs request={request} of="the log" />}>
      <div class="filters">
        <Filter name="grep" label="Search" />
      </div>
      <Waiting of={log}>
        {log.value?.lines.length === 0 ? (
          <p class="muted">{grep === "" ? "Nothing has been printed yet." : "No line has the text."}</p>
        ) : (
          <pre class="log" tabIndex={0} aria-label="Log of the app">
            {log.value?.lines.map(({ instance, line }) => `${instance} | ${printable(line)}`).join("\n")}
          </pre>
        )}
      </Waiting>
    </Panel>
  );
}
