// PostgreSQL goes away and comes back. A control plane in a process of its own says so meanwhile, and needs nobody's help afterwards.

import { sql } from "kysely";
import { expect, test } from "vitest";
import { listLeases } from "../src/background/list-leases.ts";
import { PausableProxy, type Pause } from "./support/pausable-proxy.ts";
import { startControl } from "./support/replica.ts";
import { type Answer, eventually, useWorld } from "./support/world.ts";

const world = useWorld();

/** What the configuration promises is 10 s; the rest is for a busy machine. Without a deadline of ours it would be minutes. */
const PROMPTLY_MS = 20_000;

test.each(["closed", "silent"] satisfies Pause[])(
  "while the database is %s every call is told so soon, sandboxes run on, and then all recovers by itself",
  async (how) => {
    await using proxy = await PausableProxy.open(world.databaseUrl);
    await using control = await startControl(world, {
      SKERRY_DATABASE_URL: proxy.databaseUrl,
      SKERRY_REAPER_INTERVAL_MS: "200",
      SKERRY_HEARTBEAT_INTERVAL_MS: "200",
      SKERRY_VM_CLEANUP_INTERVAL_MS: "3600000",
    });
    const { url } = control;
    const running = await world.createSandbox();
    const due = await world.createSandbox();
    const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
      world.call(method, path, { url, body, headers: { "idempotency-key": `${how}-${path}` } });
    expect((await call("GET", `/v1/sandboxes/${running.id}`)).status).toBe(200);

    proxy.pause(how);
    const startedMs = performance.now();
    const answers = await Promise.all([
      call("GET", `/v1/sandboxes/${running.id}`),
      call("GET", "/v1/sandboxes"),
      call("DELETE", `/v1/sandboxes/${running.id}`),
      call("POST", "/v1/sandboxes", { template: "base" }),
      call("POST", "/v1/auth/tokens", {}),
      call("POST", `/v1/sandboxes/${running.id}/execute`, { command: "true" }),
      world.call("GET", "/v1/sandboxes", { url, token: `sk_${"x".repeat(43)}` }),
    ]);
    expect(performance.now() - startedMs).toBeLessThan(PROMPTLY_MS);
    for (const answer of answers) {
      expect([answer.status, answer.body["code"]]).toEqual([503, "database_unavailable"]);
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    }
    expect((await call("GET", "/v1/health")).status).toBe(200);
    expect(world.host.vms.has(running.id)).toBe(true);
    await sql`update sandboxes set expires_at = now() - interval '1 second' where id = ${due.id}`.execute(
      world.db,
    );

    const cleanedUp = async () =>
      (await listLeases(world.db)).find(({ name }) => name === "vm-cleanup")?.last_run_at?.getTime();
    const before = await cleanedUp();
    proxy.resume();
    await eventually(
      async () => (await call("GET", `/v1/sandboxes/${running.id}`)).status === 200,
      "reads work",
    );
    const retry = await call("POST", "/v1/sandboxes", { template: "base" });
    expect([retry.status, retry.text.includes("running")]).toEqual([201, true]);
    expect((await call("GET", `/v1/sandboxes/${running.id}`)).body["status"]).toBe("running");
    await eventually(() => !world.host.vms.has(due.id), "the reaper works again");
    await eventually(async () => (await cleanedUp()) !== before, "what was left in the middle is looked at");
  },
);
