// What becomes of persistent sandboxes when control or a host dies in the middle of a pause or a resume, or is too slow.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newIdAfter } from "@skerry/contract/ids";
import { SkerryError } from "@skerry/contract/errors";
import type { Vm } from "@skerry/contract/host-api/vm";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { sandboxReaper } from "../src/sandboxes/sandbox-reaper.ts";
import { startControl } from "./support/replica.ts";
import { never, TwoHosts } from "./support/two-hosts.ts";
import type { FakeHost } from "./support/fake-host.ts";
import { eventually } from "./support/world.ts";

let two: TwoHosts;
let host: FakeHost;
let id: string;
beforeEach(async () => {
  two = await TwoHosts.open();
  host = two.second;
  await two.onlySecond();
  id = (await two.world.createSandbox({ mode: "persistent" })).id;
});
afterEach(() => two[Symbol.asyncDispose]());

const act = (what: "pause" | "resume", url = two.world.url) =>
  two.world.call<Sandbox & { code: string }>("POST", `/v1/sandboxes/${id}/${what}`, { url });
const sandbox = (): Promise<Sandbox> => two.sandbox(id);
const row = () =>
  two.world.db.selectFrom("sandboxes").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
const set = async (values: string): Promise<void> =>
  void (await sql`update sandboxes set ${sql.raw(values)} where id = ${id}`.execute(two.world.db));
const vm = () => {
  const found = host.vms.get(id);
  if (found === undefined) throw new Error("the host has no such VM");
  return found;
};
const onHost = (values: Partial<Vm>): void => void host.vms.set(id, { ...vm(), ...values });

const DEAD = "claimed_until = now() - interval '1 ms'";

/** The memory that the organization holds, in MiB. */
async function heldMemory(): Promise<number> {
  const { body } = await two.world.call<{ quotas: { memory_mib: { used: number } } }>("GET", "/v1/limits");
  return body.quotas.memory_mib.used;
}

const MEMORY_MIB = 256;

test.each(["before", "after"] as const)(
  "a control process that is killed %s the host has paused leaves a sandbox that is paused in the end",
  async (when) => {
    let reached = false;
    host.pauses[when] = async () => {
      reached = true;
      await new Promise(() => undefined);
    };
    await using control = await startControl(two.world, { SKERRY_HOST_SOCKET: host.socketPath });
    act("pause", control.url).catch(() => undefined);
    await eventually(() => reached, "the host is asked to pause");
    await control.kill();
    host.pauses[when] = async () => undefined;
    expect((await sandbox()).status).toBe("pausing");
    await two.cleanUp();
    expect((await sandbox()).status).toBe("pausing");
    await set(DEAD);
    await two.cleanUp();
    expect([(await sandbox()).status, vm().status, await heldMemory()]).toEqual(["paused", "paused", 0]);
    expect((await act("resume")).body.status).toBe("running");
  },
);

test("a control process that is killed before the host has resumed leaves a paused sandbox", async () => {
  await act("pause");
  const life = vm().execution_id;
  let reached = false;
  host.pauses.before = async () => {
    reached = true;
    await new Promise(() => undefined);
  };
  await using control = await startControl(two.world, { SKERRY_HOST_SOCKET: host.socketPath });
  act("resume", control.url).catch(() => undefined);
  await eventually(() => reached, "the host is asked to resume");
  await control.kill();
  host.pauses.before = async () => undefined;
  expect([(await sandbox()).status, await heldMemory()]).toEqual(["resuming", MEMORY_MIB]);
  await set(DEAD);
  await two.cleanUp();
  expect(await sandbox()).toMatchObject({ status: "paused", paused_at: expect.any(String) as string });
  expect([(await row()).execution_id, await heldMemory()]).toEqual([life, 0]);
  expect((await act("resume")).body.status).toBe("running");
});

test("a control process that is killed after the host has resumed leaves a sandbox that runs, with a new time and its policy", async () => {
  await act("pause");
  await set("expires_at = now() - interval '1 h'");
  let reached = false;
  host.pauses.after = async () => {
    reached = true;
    await new Promise(() => undefined);
  };
  await using control = await startControl(two.world, { SKERRY_HOST_SOCKET: host.socketPath });
  act("resume", control.url).catch(() => undefined);
  await eventually(() => reached, "the host has resumed it");
  await control.kill();
  host.pauses.after = async () => undefined;
  await set(DEAD);
  await two.cleanUp();
  const now = await row();
  expect([now.status, now.execution_id, now.paused_at]).toEqual(["running", vm().execution_id, null]);
  expect(now.expires_at.getTime()).toBeGreaterThan(Date.now());
  await two.cleanUp();
  expect(host.calls).toContain(`PUT /vms/${id}/egress`);
  expect((await row()).egress_applied).toBe(1);
});

test("a resume that reaches the host after it was given up is the sandbox's all the same", async () => {
  await act("pause");
  onHost({ status: "running", execution_id: newIdAfter("incarnation", vm().execution_id) });
  await two.cleanUp();
  const now = await row();
  expect([now.status, now.execution_id, vm().status]).toEqual(["running", vm().execution_id, "running"]);
});

test("a resume that was taken for dead comes to life once, and its caller has the sandbox", async () => {
  await act("pause");
  host.beforeStart = async () => {
    host.beforeStart = async () => undefined;
    await set(DEAD);
    await two.cleanUp();
    expect((await sandbox()).status).toBe("paused");
  };
  const answer = await act("resume");
  expect(answer.body.status).toBe("running");
  expect([(await row()).execution_id, vm().status]).toEqual([vm().execution_id, "running"]);
  expect(host.calls.filter((call) => call === `PUT /vms/${id}`)).toHaveLength(2);
});

test.each(["pausing", "resuming"] as const)(
  "one that is destroyed while it is %s leaves nothing on its host",
  async (status) => {
    if (status === "resuming") await act("pause");
    host.pauses.after = async () => {
      host.pauses.after = async () => undefined;
      expect((await sandbox()).status).toBe(status);
      expect((await two.world.call("DELETE", `/v1/sandboxes/${id}`)).status).toBe(204);
    };
    expect((await act(status === "pausing" ? "pause" : "resume")).status).toBe(409);
    await two.cleanUp();
    expect([(await sandbox()).status, host.vms.has(id), await heldMemory()]).toEqual(["destroyed", false, 0]);
  },
);

test.each(["pausing", "paused", "resuming"] as const)(
  "one that is %s and that its host does not have has failed, and says why",
  async (status) => {
    await act("pause");
    await set(`status = '${status}', ${DEAD}`);
    host.vms.delete(id);
    await two.cleanUp();
    const failed = await sandbox();
    expect(failed.status).toBe("failed");
    expect(failed.reason).toContain("does not have it any more");
  },
);

test("where the host does not answer a pause, it is asked again", async () => {
  host.pauses.failures.set("pause", new SkerryError("host_unavailable", "busy"));
  expect((await act("pause")).status).toBe(503);
  expect((await sandbox()).status).toBe("pausing");
  host.pauses.failures.clear();
  await two.cleanUp();
  expect((await sandbox()).status).toBe("paused");
});

test("where the VM has ended before its pause, the sandbox has failed with the reason of its end", async () => {
  host.end(id, "the guest has crashed");
  expect((await act("pause")).body.code).toBe("sandbox_not_running");
  await two.cleanUp();
  expect((await sandbox()).reason).toContain("the guest has crashed");
});

async function loseHost(): Promise<void> {
  await host.stop();
  await two.silence();
  await two.judge();
}

test("a paused one of a silent host is unreachable, whatever its time, and is paused again when the host is back", async () => {
  await act("pause");
  await set("expires_at = now() - interval '10 days'");
  await loseHost();
  const lost = await sandbox();
  expect(lost).toMatchObject({ status: "unreachable", paused_at: expect.any(String) as string });
  expect((await act("resume")).body.code).toBe("host_unavailable");
  await sandboxReaper(two.world.context, 1_000, 30).activate(never);
  await host.start();
  await two.ask();
  await two.cleanUp();
  expect(await sandbox()).toMatchObject({ status: "paused", paused_at: lost.paused_at, reason: null });
  // Nothing is left to do there.
  await two.cleanUp();
  expect((await act("resume")).body.status).toBe("running");
});

test("one that ran on a silent host past its time runs on when the host is back, and is paused then", async () => {
  await loseHost();
  await set("expires_at = now() - interval '1 h'");
  await sandboxReaper(two.world.context, 1_000, 30).activate(never);
  expect((await sandbox()).status).toBe("unreachable");
  await host.start();
  await two.ask();
  await two.cleanUp();
  expect((await sandbox()).status).toBe("running");
  await sandboxReaper(two.world.context, 1_000, 30).activate(never);
  expect((await sandbox()).status).toBe("paused");
});

test("a paused one has failed when its host is removed", async () => {
  await act("pause");
  await loseHost();
  const { id: hostId } = await two.world.db
    .updateTable("hosts")
    .set({ joined: true })
    .where("name", "=", "second")
    .returning("id")
    .executeTakeFirstOrThrow();
  const refused = await two.world.call<{ code: string }>("DELETE", `/v1/hosts/${hostId}`);
  expect(refused.body.code).toBe("host_not_empty");
  expect((await two.world.call("DELETE", `/v1/hosts/${hostId}?force=true`)).status).toBe(204);
  expect(await sandbox()).toMatchObject({ status: "failed", reason: expect.any(String) as string });
});

test("what is paused is kept where the database is from a backup of before: its row is paused, or its host keeps it", async () => {
  await act("pause");
  const { execution_id, spec } = vm();
  await set("status = 'running', paused_at = null, execution_id = 'exe_00000000000000000000000001'");
  const unknown = "sbx_01kb3x0q9vt5c7r2m8n4p6w1yz";
  host.vms.set(unknown, { ...vm(), id: unknown, spec });
  await two.cleanUp();
  const now = await row();
  expect([now.status, now.execution_id, vm().status]).toEqual(["paused", execution_id, "paused"]);
  expect(host.vms.has(unknown)).toBe(true);
  expect(JSON.stringify(two.world.log)).toContain("it is left there");
});

test("a host that does not answer is asked again before the next turn of VM cleanup, unless it is in maintenance", async () => {
  await host.stop();
  const turn = await two.cleanUp();
  expect([turn.failed, turn.nextMs]).toEqual([1, 2_000]);
  await sql`update hosts set desired = 'drained', status = 'maintenance' where name = 'second'`.execute(
    two.world.db,
  );
  expect((await two.cleanUp()).nextMs).toBe(Infinity);
});
