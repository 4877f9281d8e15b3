// kill -9 of each process in each status of a deploy, under load: no request fails that the proxy could
// serve, and the deploy gets to its end.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { deployStatuses, isDeployOver, type DeployStatus } from "@skerry/contract/apps/deploy-status";
import {
  freePort,
  serverPid,
  startPlatform,
  until,
  untilReplaced,
  type Platform,
} from "./support/platform.ts";
import { run } from "./support/run.ts";
import { covering } from "./support/sampling.ts";

const SETTLED_WITHIN_MS = 120_000;
const statuses = ["releasing", "starting", "checking", "switching", "draining"] as const;
const victims = ["control", "host", "postgres", "proxy"] as const;
type Victim = (typeof victims)[number];

let platform: Platform;
const port = await freePort();

beforeAll(async () => {
  platform = await startPlatform({
    assets: inject("assets"),
    env: { SKERRY_EDGE_HTTP: `127.0.0.1:${port}` },
  });
  await platform.client.apps.create({ name: "shop" });
  await live(await deploy("0"));
});
afterAll(() => platform.stop());

/** Answers its version, a request at a time as they come, and takes its time to be well. */
const SERVER = `
import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        text = sys.argv[1].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *words): pass
http.server.ThreadingHTTPServer(("", 8080), H).serve_forever()
`;

async function deploy(version: string): Promise<string> {
  const { id } = await platform.client.apps.deploy("shop", {
    template: "base",
    processes: { web: { command: `sleep 1; exec python3 -c '${SERVER}' ${version}` } },
    services: [{ group: "web", port: 8080, check: { path: "/", port: 8080, interval: "1s" } }],
    ...{ release_command: "sleep 1", watch: "0s", drain_timeout: "3s" },
  });
  return id;
}

/** Undefined while nothing answers. */
async function statusOf(id: string): Promise<DeployStatus | undefined> {
  return platform.client.apps.getDeploy("shop", id).then(
    ({ status }) => status,
    () => undefined,
  );
}

async function live(id: string): Promise<void> {
  let status: DeployStatus | undefined;
  await until(
    "the deploy is over",
    async () => {
      status = await statusOf(id);
      return status !== undefined && isDeployOver(status);
    },
    SETTLED_WITHIN_MS,
  );
  const { reason } = await platform.client.apps.getDeploy("shop", id);
  expect(status, JSON.stringify(reason)).toBe("live");
}

const ask = (): Promise<string> =>
  run(
    "curl",
    "-s",
    "-m",
    "30",
    "-w",
    " %{http_code}",
    "-H",
    "Host: shop.localhost",
    `http://127.0.0.1:${port}/`,
  ).catch((error: unknown) => `failed with ${String((error as { readonly code?: unknown }).code)}`);

async function kill(victim: Victim): Promise<void> {
  if (victim === "proxy") {
    const file = join(platform.state, "host/edge/haproxy.pid");
    const pid = Number((await readFile(file, "utf8")).trim());
    process.kill(pid, "SIGKILL");
    await until(
      "the proxy is another process",
      async () => Number((await readFile(file, "utf8")).trim()) !== pid,
    );
    return;
  }
  const pid = await serverPid(platform, victim);
  process.kill(pid, "SIGKILL");
  await untilReplaced(platform, victim, pid);
}

let version = 0;

for (const [status, victim] of covering(
  "app-kill",
  statuses.flatMap((one) => victims.map((other) => [one, other] as const)),
  5,
)) {
  test(`a deploy gets to its end when ${victim} is killed while it is ${status}`, async () => {
    const state = { isOver: false };
    const seen = new Map<string, number>();
    const load = (async () => {
      while (!state.isOver) {
        const answer = await ask();
        seen.set(answer, (seen.get(answer) ?? 0) + 1);
      }
    })();
    const id = await deploy(String((version += 1)));
    const at = deployStatuses.indexOf(status);
    for (
      let now = await statusOf(id);
      now === undefined || deployStatuses.indexOf(now) < at;
      now = await statusOf(id)
    )
      await sleep(20);
    await kill(victim);
    await live(id);
    await until("all is served by the new release", async () => (await ask()) === `${version} 200`);
    state.isOver = true;
    await load;
    const failed = [...seen.keys()].filter((answer) => !/^\d+ 200$/.test(answer));
    // Connections of a proxy end with it, and it is back from its files.
    if (victim !== "proxy") expect(failed).toEqual([]);
    await until("only the new release is left", async () => {
      const { instances } = await platform.client.apps.get("shop");
      return instances.length === 1 && instances[0]?.state === "serving";
    });
  });
}
