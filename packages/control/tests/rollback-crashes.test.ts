// What becomes of a sandbox when its host or control dies in the middle of a rollback, which gives up what the sandbox was.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import type { Snapshot } from "@skerry/contract/snapshots/snapshot";
import type { VmEvent } from "@skerry/contract/vms/events";
import { TRIES_MAX } from "../src/vms/postpone.ts";
import type { FakeHost } from "./support/fake-host.ts";
import { startControl } from "./support/replica.ts";
import { TwoHosts } from "./support/two-hosts.ts";
import { eventually } from "./support/world.ts";

let two: TwoHosts;
let host: FakeHost;
let id: string;
let snapshot: string;
beforeEach(async () => {
  two = await TwoHosts.open();
  host = two.second;
  await two.onlySecond();
  id = (await two.world.createSandbox({ mode: "persistent" })).id;
  snapshot = (await two.world.call<Snapshot>("POST", `/v1/sandboxes/${id}/snapshots`)).body.id;
  // What it is said to come from is another one then.
  await two.world.call("POST", `/v1/sandboxes/${id}/snapshots`);
});
afterEach(() => two[Symbol.asyncDispose]());

const rollBack = (url = two.world.url) =>
  two.world.call<Sandbox & { code: string }>("POST", `/v1/sandboxes/${id}/rollback`, {
    body: { snapshot },
    url,
  });
const row = () =>
  two.world.db.selectFrom("sandboxes").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
const set = async (values: string): Promise<void> =>
  void (await sql`update sandboxes set ${sql.raw(values)} where id = ${id}`.execute(two.world.db));
const life = () => host.vms.get(id)?.execution_id;

/** No replica works on it, and its next attempt is due. */
const DUE = "claimed_until = now() - interval '1 ms', retry_at = now() - interval '1 ms'";

async function settle(): Promise<void> {
  await set(DUE);
  await two.cleanUp();
}

async function expectAtSnapshot(): Promise<void> {
  const now = await row();
  expect(now).toMatchObject({ status: "running", snapshot_id: snapshot, rollback: null, reason: null });
  expect([host.vms.get(id)?.status, host.vms.get(id)?.spec.from, life()]).toEqual([
    "running",
    { kind: "snapshot", snapshot_id: snapshot },
    now.execution_id,
  ]);
  const { body } = await two.world.call<{ items: VmEvent[] }>("GET", `/v1/sandboxes/${id}/events`);
  expect(body.items.map(({ kind, reason }) => [kind, reason])).toContainEqual([
    "rolled_back",
    `to snapshot ${snapshot}`,
  ]);
}

/** The lines of a rollback on its host. */
const lines = ["before it begins", "between the two lives", "before it answers"] as const;

/** Has the host call `there` at that line, once, and wait for it. */
function at(line: (typeof lines)[number], there: () => Promise<void>): void {
  const once = async (): Promise<void> => {
    host.beforeStart = async () => undefined;
    Object.assign(host.snapshots, { betweenLives: async () => undefined, afterStart: async () => undefined });
    await there();
  };
  if (line === "before it begins") host.beforeStart = once;
  else if (line === "between the two lives") host.snapshots.betweenLives = once;
  else host.snapshots.afterStart = once;
}

const never = (): Promise<void> => new Promise(() => undefined);

for (const status of ["running", "paused"] as const) {
  test.each(lines)(
    `a host that dies %s leaves a sandbox that was ${status} at the snapshot`,
    async (line) => {
      if (status === "paused") await two.world.call("POST", `/v1/sandboxes/${id}/pause`);
      at(line, async () => {
        await host.stop();
        await never();
      });
      expect((await rollBack()).body.code).toBe("host_unavailable");
      expect((await row()).status).toBe("resuming");
      await two.cleanUp();
      // Where the host cannot be asked nothing is concluded.
      expect((await row()).status).toBe("resuming");
      await host.start();
      await settle();
      await settle();
      await expectAtSnapshot();
    },
  );
}

test.each(lines)(
  "a control process that dies when its host is %s leaves the sandbox at the snapshot",
  async (line) => {
    let reached = false;
    const going = Promise.withResolvers<void>();
    at(line, () => {
      reached = true;
      return going.promise;
    });
    await using control = await startControl(two.world, { SKERRY_HOST_SOCKET: host.socketPath });
    rollBack(control.url).catch(() => undefined);
    await eventually(() => reached, "the host is at work");
    await control.kill();
    await two.cleanUp();
    expect((await row()).status).toBe("resuming");
    going.resolve();
    await settle();
    await settle();
    await expectAtSnapshot();
  },
);

test("a host that is taken for dead between the two lives comes back with neither, and the sandbox is at the snapshot", async () => {
  at("between the two lives", async () => {
    await host.stop();
    await never();
  });
  await rollBack();
  await two.silence();
  await two.judge();
  expect((await row()).status).toBe("unreachable");
  await host.start();
  await two.ask();
  await two.cleanUp();
  await expectAtSnapshot();
});

test.each(["snapshot_damaged", "snapshot_incompatible", "disk_full"] as const)(
  "where the host refuses the snapshot with %s the sandbox is as it was",
  async (code) => {
    const before = [life(), (await row()).snapshot_id];
    host.failures.set("start", new SkerryError(code, "no"));
    expect((await rollBack()).body.code).toBe(code);
    const now = await row();
    expect([now.status, now.rollback, now.execution_id, now.snapshot_id]).toEqual([
      "running",
      null,
      ...before,
    ]);
    expect(
      (await two.world.call("POST", `/v1/sandboxes/${id}/execute`, { body: { command: "true" } })).status,
    ).toBe(200);
  },
);

/** Its host gives up what the sandbox was, and does not bring it up. */
async function breakOff(error: SkerryError): Promise<void> {
  host.snapshots.betweenLives = async () => {
    host.snapshots.betweenLives = async () => undefined;
    host.failures.set("start", error);
    throw error;
  };
  expect((await rollBack()).body.code).toBe(error.code);
}

test("a start at the snapshot that fails is tried again, and no sooner than it is due", async () => {
  await breakOff(new SkerryError("guest_failed", "its QEMU was killed"));
  expect(await row()).toMatchObject({ status: "resuming", attempts: 1, claimed_until: null });
  host.failures.clear();
  await two.cleanUp();
  expect((await row()).status).toBe("resuming");
  await settle();
  await expectAtSnapshot();
});

test("where it fails again and again the sandbox has failed in the end, and says why", async () => {
  await breakOff(new SkerryError("internal", "the host is broken"));
  for (let tries = 2; tries < TRIES_MAX; tries += 1) {
    await settle();
    expect(await row()).toMatchObject({ status: "resuming", attempts: tries });
  }
  await settle();
  expect(await row()).toMatchObject({ status: "failed", rollback: null });
  expect((await row()).reason).toContain(`could not be rolled back to snapshot ${snapshot}`);
});

test("where nothing is left of it and the snapshot is damaged, it has failed at once", async () => {
  await breakOff(new SkerryError("snapshot_damaged", "its memory is missing"));
  expect((await row()).reason).toBe(
    `could not be rolled back to snapshot ${snapshot}: its memory is missing`,
  );
});

test("a snapshot that is deleted while a sandbox goes back to it stays until that is over", async () => {
  await breakOff(new SkerryError("guest_failed", "its QEMU was killed"));
  host.failures.clear();
  expect((await two.world.call("DELETE", `/v1/snapshots/${snapshot}`)).status).toBe(204);
  expect(host.snapshots.kept.has(snapshot)).toBe(true);
  await settle();
  await expectAtSnapshot();
  await sql`update snapshots set retry_at = now()`.execute(two.world.db);
  await two.cleanUp();
  expect(host.snapshots.kept.has(snapshot)).toBe(false);
});

test.each(lines)("a sandbox that is destroyed when its host is %s is gone", async (line) => {
  at(line, async () => {
    expect((await two.world.call("DELETE", `/v1/sandboxes/${id}`)).status).toBe(204);
  });
  expect((await rollBack()).status).toBe(409);
  await two.cleanUp();
  expect([(await row()).status, host.vms.has(id)]).toEqual(["destroyed", false]);
});

test("a rollback that was taken for dead ends once, and its caller has the sandbox", async () => {
  at("before it answers", async () => {
    await settle();
  });
  const { body } = await rollBack();
  expect([body.status, body.snapshot_id]).toEqual(["running", snapshot]);
  await expectAtSnapshot();
});

test("a host of the version before, which replaces no VM, is told to destroy it first", async () => {
  host.snapshots.replaces = false;
  expect((await rollBack()).body.status).toBe("running");
  await expectAtSnapshot();
});

test("a sandbox that a replica of the version before finds running goes on there when its host is lost and comes back", async () => {
  host.failures.set("start", new SkerryError("host_unavailable", "no answer"));
  await rollBack();
  host.failures.clear();
  expect(await row()).toMatchObject({ status: "resuming", rollback: { snapshot_id: snapshot } });
  // As VM cleanup of that version writes it, whose statement does not name the column.
  await set(
    `status = 'running', version = version + 1, claimed_until = null, attempts = 0, execution_id = '${life()}'`,
  );
  const before = life();
  await host.stop();
  await two.silence();
  await two.judge();
  expect((await row()).status).toBe("unreachable");
  await host.start();
  await two.ask();
  await settle();
  expect([(await row()).status, life()]).toEqual(["running", before]);
});
