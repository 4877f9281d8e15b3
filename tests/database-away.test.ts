// PostgreSQL goes away for a while, under sandboxes that run. They do not notice, whoever calls is told, and afterwards nobody has to
// do anything.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { qemuProcesses } from "./support/leftovers.ts";
import {
  call,
  inventory,
  nothingWaits,
  qemuPidOf,
  startPlatform,
  until,
  type Platform,
} from "./support/platform.ts";
import { Postgres } from "./support/postgres.ts";

const AWAY_MS = 20_000;
/** Far more than an answer needs that waits for nobody, and far less than one that waits for the database. */
const PROMPTLY_MS = 15_000;

let postgres: Postgres;
let platform: Platform;
let sandbox: Sandbox;

beforeAll(async () => {
  postgres = await Postgres.start();
  platform = await startPlatform({
    assets: inject("assets"),
    env: { ...nothingWaits, SKERRY_DATABASE_URL: postgres.url },
  });
  sandbox = await platform.client.sandboxes.create({ template: "base", timeout: "1h" });
});

afterAll(async () => {
  await platform?.stop();
  await postgres?.[Symbol.asyncDispose]();
});

test("while PostgreSQL is away for 20 s every call is told so, sandboxes run on, and then all goes on by itself", async () => {
  const pid = await qemuPidOf(platform, sandbox.id);
  const dying = await platform.client.sandboxes.create({ template: "base", timeout: "1h" });
  await sandbox.execute("nohup sh -c 'while sleep 1; do date +%s >> /tmp/alive; done' > /dev/null 2>&1 &");
  await dying.keepalive("1h");

  await postgres.stop();
  const awayAtMs = performance.now();
  let asked = 0;
  while (performance.now() - awayAtMs < AWAY_MS) {
    for (const [method, path, body] of [
      ["GET", `/v1/sandboxes/${sandbox.id}`],
      ["POST", "/v1/sandboxes", { template: "base" }],
      ["DELETE", `/v1/sandboxes/${dying.id}`],
      ["POST", `/v1/sandboxes/${sandbox.id}/execute`, { command: "true" }],
    ] as const) {
      const startedMs = performance.now();
      const answer = await call(platform, method, path, body === undefined ? {} : { body });
      expect(performance.now() - startedMs).toBeLessThan(PROMPTLY_MS);
      expect([answer.status, await answer.json()]).toMatchObject([503, { code: "database_unavailable" }]);
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      asked += 1;
    }
    await sleep(1_000);
  }
  expect(asked).toBeGreaterThan(10);
  expect((await qemuProcesses(platform.instance)).map((qemu) => qemu.pid)).toContain(pid);
  await postgres.resume();

  await until(
    "the API works again",
    async () => (await call(platform, "GET", "/v1/sandboxes")).status === 200,
  );
  const lines = await sandbox.execute("wc -l < /tmp/alive");
  expect(Number(lines.stdout)).toBeGreaterThan((0.5 * AWAY_MS) / 1_000);
  await until("new sandboxes can be created", async () => {
    const made = await platform.client.sandboxes.create({ template: "base" }).catch(() => undefined);
    await made?.destroy();
    return made !== undefined;
  });
  await dying.destroy();
  await until("processes and rows agree", async () => {
    const { processes, runningRows, unsettledRows } = await inventory(platform);
    return unsettledRows === 0 && processes === runningRows && runningRows === 1;
  });
});
