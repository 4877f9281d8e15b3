import { sql } from "kysely";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { sandboxReaper } from "../src/sandboxes/sandbox-reaper.ts";
import { vmReconciler } from "../src/platform/vm-reconciler.ts";
import type { Report } from "../src/background/background-service.ts";
import { World } from "./support/world.ts";

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world[Symbol.asyncDispose]());

const MINUTE_MS = 60_000;
const never = new AbortController().signal;

function reconcile(): Promise<Report> {
  return vmReconciler(world.context, 1_000).activate(never);
}

function reap(): Promise<Report> {
  return sandboxReaper(world.context, 1_000, 30).activate(never);
}

async function sandbox(id: string): Promise<Sandbox> {
  return (await world.call<Sandbox>("GET", `/v1/sandboxes/${id}`)).body;
}

function set(id: string, values: string): Promise<unknown> {
  return sql`update sandboxes set ${sql.raw(values)} where id = ${id}`.execute(world.db);
}

test("the reaper comes back when the time of the next sandbox is over, and a short time is told to it", async () => {
  const { id } = await world.createSandbox();
  await set(id, "expires_at = now() + interval '30 minutes'");
  expect((await reap()).nextMs, "its own period is shorter").toBeUndefined();
  const { nextMs = 0 } = await sandboxReaper(world.context, 60 * MINUTE_MS, 30).activate(never);
  expect(nextMs).toBeGreaterThan(0);
  expect(nextMs).toBeLessThanOrEqual(30 * MINUTE_MS);
  const woken = vi.spyOn(world.context, "wake");
  await world.createSandbox({ timeout: "3s" });
  expect(woken).toHaveBeenCalledWith("sandbox-reaper");
});

test("where rows and microVMs agree nothing is changed", async () => {
  const { id } = await world.createSandbox();
  expect(await reconcile()).toMatchObject({ changed: 0, failed: 0, more: false });
  expect(await reap()).toEqual({ examined: 0, changed: 0, failed: 0, more: false });
  expect((await sandbox(id)).status).toBe("running");
});

test("a sandbox whose microVM ended is failed with its reason, and its memory is free again", async () => {
  const { id } = await world.createSandbox();
  world.host.end(id, "the guest ran out of memory");
  expect(await reconcile()).toMatchObject({ changed: 1, failed: 0 });
  expect(await sandbox(id)).toMatchObject({
    status: "failed",
    reason: "the microVM ended: the guest ran out of memory",
  });
  expect(world.host.vms.size).toBe(0);
  world.host.memoryMib = 256;
  await world.beat();
  await world.createSandbox();
});

test("a sandbox whose microVM is not there any more is failed", async () => {
  const { id } = await world.createSandbox();
  world.host.vms.delete(id);
  await reconcile();
  expect(await sandbox(id)).toMatchObject({
    status: "failed",
    reason: "the microVM ended: its host does not have it any more",
  });
});

test("where the host cannot be reached nothing is concluded", async () => {
  const { id } = await world.createSandbox();
  await world.host.stop();
  expect(await reconcile()).toMatchObject({ changed: 0, failed: 1 });
  expect((await sandbox(id)).status).toBe("running");
  world.host.failures.set("list", new SkerryError("internal", "not now"));
  await world.host.start();
  expect(await reconcile()).toMatchObject({ changed: 0, failed: 1 });
  expect((await sandbox(id)).status).toBe("running");
});

test("a microVM without a row, of a row that has ended or of an older life is removed", async () => {
  const kept = await world.createSandbox();
  const ended = await world.createSandbox();
  const reborn = await world.createSandbox();
  const vm = world.host.vms.get(kept.id);
  if (vm === undefined) throw new Error("no VM");
  world.host.vms.set("sbx_unknown", { ...vm, id: "sbx_unknown" });
  await set(ended.id, "status = 'failed'");
  await set(reborn.id, "execution_id = 'exe_new'");
  await reconcile();
  expect([...world.host.vms.keys()]).toEqual([kept.id]);
  expect((await sandbox(reborn.id)).status).toBe("failed");
});

test("a creation that its control plane did not survive is failed and given back, one under way is left alone", async () => {
  const dead = await world.createSandbox();
  const alive = await world.createSandbox();
  await set(dead.id, "status = 'creating', claimed_until = now() - interval '1 ms'");
  await set(alive.id, "status = 'creating', claimed_until = now() + interval '10 s', expires_at = now()");
  await reconcile();
  await reap();
  expect(await sandbox(dead.id)).toMatchObject({
    status: "failed",
    reason: "the control plane stopped while it was creating the sandbox",
  });
  expect((await sandbox(alive.id)).status).toBe("creating");
  expect([...world.host.vms.keys()]).toEqual([alive.id]);
});

test("a creation that was taken for dead does not come back to life", async () => {
  world.host.beforeStart = async (id) => {
    await set(id, "claimed_until = now() - interval '1 ms'");
    await reconcile();
  };
  const answer = await world.call("POST", "/v1/sandboxes", { body: { template: "base" } });
  expect([answer.status, answer.body["code"]]).toEqual([409, "sandbox_not_running"]);
  expect(world.host.vms.size).toBe(0);
});

test("a destruction that nobody finished is finished", async () => {
  const { id } = await world.createSandbox();
  await set(id, "status = 'destroying'");
  await reconcile();
  expect((await sandbox(id)).status).toBe("destroyed");
  expect(world.host.vms.size).toBe(0);
});

test("one stuck sandbox neither hides the others nor is tried again at once", async () => {
  const stuck = await world.createSandbox();
  const other = await world.createSandbox();
  world.host.stuck.add(stuck.id);
  await set(stuck.id, "status = 'destroying'");
  await set(other.id, "status = 'destroying'");
  expect(await reconcile()).toMatchObject({ changed: 1, failed: 1 });
  expect((await sandbox(other.id)).status).toBe("destroyed");
  const calls = world.host.calls.length;
  await reconcile();
  expect(world.host.calls.slice(calls)).toEqual(["GET /vms"]);
  world.host.stuck.clear();
  await set(stuck.id, "retry_at = now()");
  await reconcile();
  expect((await sandbox(stuck.id)).status).toBe("destroyed");
});

test("a sandbox past its expiry is destroyed, whatever became of it, and the reason is kept", async () => {
  const running = await world.createSandbox();
  const failed = await world.createSandbox();
  const fresh = await world.createSandbox();
  await set(running.id, "expires_at = now() - interval '1 ms'");
  await set(failed.id, "status = 'failed', reason = 'broke', expires_at = now() - interval '1 ms'");
  expect(await reap()).toEqual({ examined: 2, changed: 2, failed: 0, more: false });
  expect(await sandbox(running.id)).toMatchObject({ status: "destroyed", reason: "timeout expired" });
  expect(await sandbox(failed.id)).toMatchObject({ status: "destroyed", reason: "broke" });
  expect((await sandbox(fresh.id)).status).toBe("running");
  expect([...world.host.vms.keys()]).toEqual([fresh.id]);
});

test("the expiry of a sandbox on a host that is down is carried out when the host is back", async () => {
  const { id } = await world.createSandbox();
  await set(id, "expires_at = now()");
  await world.host.stop();
  expect(await reap()).toMatchObject({ examined: 1, changed: 0, failed: 1 });
  expect((await sandbox(id)).status).toBe("destroying");
  await world.host.start();
  await reconcile();
  expect(await sandbox(id)).toMatchObject({ status: "destroyed", reason: "timeout expired" });
});

test("a batch has a limit and says that there is more", async () => {
  await world.createSandbox();
  await sql`
    insert into sandboxes (id, org_id, template, mode, size, vcpus, memory_mib, status, execution_id, host_id,
                           env, metadata, egress, timeout_ms, expires_at)
    select 'sbx_' || n, org_id, template, mode, size, 0, 0, 'running', execution_id, host_id,
           env, metadata, egress, timeout_ms, now() - interval '1 s'
    from sandboxes, generate_series(1, 40) n`.execute(world.db);
  expect(await reap()).toEqual({ examined: 32, changed: 32, failed: 0, more: true });
  expect(await reap()).toEqual({ examined: 8, changed: 8, failed: 0, more: false });
});
