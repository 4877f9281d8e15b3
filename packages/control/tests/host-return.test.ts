import { sql } from "kysely";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { sandboxReaper } from "../src/sandboxes/sandbox-reaper.ts";
import { TwoHosts } from "./support/two-hosts.ts";

const never = new AbortController().signal;

let two: TwoHosts;
beforeEach(async () => {
  two = await TwoHosts.open();
});
afterEach(async () => {
  vi.useRealTimers();
  await two[Symbol.asyncDispose]();
});

test("a host that comes back has its sandboxes back, once each and under the same life", async () => {
  const id = await two.sandboxOn(two.second);
  const executionId = two.second.vms.get(id)?.execution_id;
  await two.second.stop();
  await two.silence();
  await two.judge();
  await two.second.start();
  two.world.rung.length = 0;
  await two.ask();
  expect(two.world.rung).toContain("vm-cleanup");
  expect((await two.host("second")).status).toBe("online");
  await two.cleanUp();
  expect(await two.sandbox(id)).toMatchObject({ status: "running", reason: null });
  expect(two.second.vms.get(id)?.execution_id).toBe(executionId);
  expect(
    (await two.world.call("POST", `/v1/sandboxes/${id}/execute`, { body: { command: "true" } })).status,
  ).toBe(200);
});

test("what was given up meanwhile does not come back: expired, destroyed, failed by itself, or of another life", async () => {
  const expired = await two.sandboxOn(two.second);
  const destroyed = await two.sandboxOn(two.second);
  const broken = await two.sandboxOn(two.second);
  const stale = await two.sandboxOn(two.second);
  await sql`update sandboxes set status = 'failed', reason = 'broke' where id = ${broken}`.execute(
    two.world.db,
  );
  await two.second.stop();
  await two.silence();
  await two.judge();
  await sql`update sandboxes set expires_at = now() where id = ${expired}`.execute(two.world.db);
  await two.world.call("DELETE", `/v1/sandboxes/${destroyed}`);
  await sql`update sandboxes set execution_id = 'exe_other' where id = ${stale}`.execute(two.world.db);
  await two.second.start();
  await two.ask();
  await two.cleanUp();
  await sandboxReaper(two.world.context, 1_000, 30).activate(never);
  for (const id of [expired, destroyed, broken, stale]) expect(two.second.vms.has(id)).toBe(false);
  const statuses = await Promise.all(
    [expired, destroyed, broken, stale].map(async (id) => (await two.sandbox(id)).status),
  );
  expect(statuses).toEqual(["destroyed", "destroyed", "failed", "failed"]);
});

test("a drain goes on when its host comes back", async () => {
  await sql`update hosts set status = 'draining', desired = 'drained' where name = 'second'`.execute(
    two.world.db,
  );
  await two.second.stop();
  await two.silence();
  await two.judge();
  expect((await two.host("second")).status).toBe("offline");
  await two.second.start();
  await two.ask();
  expect((await two.host("second")).status).toBe("draining");
});

test("clocks that are 5 minutes off, a host's and this process', change nothing", async () => {
  const id = await two.sandboxOn(two.second);
  for (const skewMs of [300_000, -300_000]) {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + skewMs });
    const vm = two.second.vms.get(id);
    if (vm === undefined) throw new Error("no VM");
    two.second.vms.set(id, { ...vm, started_at: new Date().toISOString() });
    await two.pass(10);
    await two.ask();
    expect(await two.judge()).toMatchObject({ changed: 0 });
    await two.cleanUp();
    vi.useRealTimers();
    expect((await two.host("second")).status).toBe("online");
    expect((await two.sandbox(id)).status).toBe("running");
  }
});

test("a VM that ended by itself is looked at when the heartbeat tells of it", async () => {
  await two.ask();
  two.world.rung.length = 0;
  await two.ask();
  expect(two.world.rung).toEqual([]);
  two.second.ended += 1;
  await two.ask();
  expect(two.world.rung).toEqual(["vm-cleanup"]);
});

test("VM cleanup comes by again when a claim lapses or an attempt is due, not only after its period", async () => {
  const claimed = await two.world.createSandbox();
  const stuck = await two.world.createSandbox();
  expect((await two.cleanUp()).nextMs).toBe(Infinity);
  await sql`update sandboxes set status = 'creating', claimed_until = now() + interval '9 s' where id = ${claimed.id}`.execute(
    two.world.db,
  );
  expect((await two.cleanUp()).nextMs).toBeGreaterThan(5_000);
  await sql`update sandboxes set status = 'destroying', retry_at = now() + interval '4 s' where id = ${stuck.id}`.execute(
    two.world.db,
  );
  const { nextMs } = await two.cleanUp();
  expect(nextMs).toBeGreaterThan(1_000);
  expect(nextMs).toBeLessThanOrEqual(4_000);
});
