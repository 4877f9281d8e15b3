// A clone that was taken, and whose host was killed before it was awake: whoever was answered finds it awake with the next host process, or
// hears why not.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { VmEngine, type EngineOptions } from "../src/vm/engine/engine.ts";
import { keepSecrets, keptSecrets } from "../src/vm/record/secrets-in-memory.ts";
import type { VmRecord } from "../src/vm/record/record.ts";
import { FakeGuest } from "./support/fake-guest.ts";
import { FakeQemu } from "./support/fake-qemu.ts";
import { identityOf, leave, ownerOf, recordIn as recordOf } from "./support/records.ts";

/** Its own: another file's host would remove secrets of VMs that it does not know. */
const INSTANCE = "skerry-f0d000";
const waking = { hostname: "a", env: { TOKEN: "secret" } };
const moves = { arrived: () => undefined, sent: () => undefined };

let vmsFolder: string;
let guest: FakeGuest;
let qemu: ChildProcess;
let engine: VmEngine;
/** What was done, in its order. */
let seen: string[];
let freed: number[];

beforeEach(async () => {
  vmsFolder = await mkdtemp("/tmp/skerry-unit-found-");
  guest = await FakeGuest.start();
  qemu = spawn("sleep", ["600"], { stdio: "ignore" });
  await once(qemu, "spawn");
  seen = [];
  freed = [];
  const resources = {
    slots: {
      adopt: () => undefined,
      slot: (number: number) => ({ number }),
      close: async ({ number }: { number: number }) => void freed.push(number),
      sweep: async () => 0,
    },
    egress: {
      replace: async ({ number }: { number: number }, { mode }: { mode: string }) =>
        void seen.push(`${mode} in slot ${number}`),
    },
    cgroups: { remove: async () => undefined },
    denials: { last: async () => undefined },
    firstVmUid: 1_899_000_000,
  };
  const owner = { ...ownerOf(vmsFolder), instance: INSTANCE };
  const options = { resources, vmsFolder, instance: owner.instance, owner, log: pino({ level: "silent" }) };
  // The rest is for VMs that begin.
  engine = new VmEngine(options as unknown as EngineOptions);
});

afterEach(async () => {
  engine.close();
  qemu.kill("SIGKILL");
  await guest[Symbol.asyncDispose]();
  await rm(vmsFolder, { recursive: true, force: true });
});

/** As its host has left it. */
async function cutOff(changes: Partial<VmRecord> = {}): Promise<VmRecord> {
  const process = await identityOf(qemu);
  const record = await leave(
    recordIn(vmsFolder, "sbx_a", { status: "creating", process, waking, ...changes }),
  );
  await symlink(guest.path, join(record.folder, "agent.sock"));
  return record;
}

const recordIn = (folder: string, id: string, changes: Partial<VmRecord> = {}): VmRecord =>
  recordOf(folder, id, { name: `${INSTANCE}:${id}:exe_1`, ...changes });

function recordOnDisk(): Promise<string> {
  return readFile(join(vmsFolder, "sbx_a/vm.json"), "utf8");
}

test.each([
  ["does not go on yet", "paused", ["wake", "configure"]],
  ["goes on already, as nobody or as somebody", "running", ["configure"]],
] as const)(
  "a guest that %s gets its policy, goes on and is told who it is, before anybody comes in",
  async (_what, status, operations) => {
    const { folder } = await cutOff();
    await using control = await FakeQemu.listen(join(folder, "qmp.sock"));
    control.status = status;
    control.before = async (command) => void (command === "cont" && seen.push("goes on"));
    expect(await engine.adopt(moves)).toEqual({ running: 1, ended: 0, unreadable: 0, removed: 0 });
    expect([engine.get("sbx_a").status, engine.isBusy]).toEqual(["creating", true]);
    const using = engine.use("sbx_a", "exe_1").then((use) => {
      seen.push("somebody is in");
      return use;
    });
    const peer = await guest.peer();
    await peer.answerHello();
    for (const expected of operations) {
      const { id, operation } = await peer.opened();
      expect(operation["op"]).toBe(expected);
      if (expected === "configure") expect(operation).toMatchObject(waking);
      seen.push(expected);
      await peer.close(id, {});
    }
    (await using)[Symbol.dispose]();
    expect(seen).toEqual([
      "deny_all in slot 3",
      ...(status === "paused" ? ["goes on"] : []),
      ...operations,
      "somebody is in",
    ]);
    expect(engine.get("sbx_a").status).toBe("running");
    expect(await recordOnDisk()).not.toContain("secret");
  },
);

test.each<[string, Partial<VmRecord>, string]>([
  [
    "has died with its host",
    { process: { pid: process.pid, startTicks: 0 } },
    "the microVM ended while its host was down",
  ],
  ["was being replaced", { process: undefined }, "its host was restarted while it was starting"],
])("a guest that %s has ended, and its reason is told", async (_what, changes, reason) => {
  await cutOff(changes);
  expect(await engine.adopt(moves)).toEqual({ running: 0, ended: 1, unreadable: 0, removed: 0 });
  await expect.poll(() => engine.get("sbx_a")).toMatchObject({ status: "gone", reason });
  await expect(engine.use("sbx_a", "exe_1")).rejects.toMatchObject({
    code: "vm_not_running",
    message: reason,
  });
  expect(freed).toEqual([3]);
  expect(await recordOnDisk()).not.toContain("secret");
});

test("a guest that does not answer holds up nobody, and has ended when that is clear", async () => {
  const { folder } = await cutOff();
  await using _control = await FakeQemu.listen(join(folder, "qmp.sock"));
  await leave(recordIn(vmsFolder, "sbx_b"));
  const before = engine.ended;
  await engine.adopt(moves);
  const found = (): string[] =>
    engine
      .list()
      .map(({ id, status }) => `${id} ${status}`)
      .toSorted();
  await expect.poll(found).toEqual(["sbx_a creating", "sbx_b gone"]);
  const asked = engine.use("sbx_a", "exe_1");
  const killed = once(qemu, "exit");
  (await guest.peer()).hangUp();
  const reason = "the guest's channel was closed";
  await expect(asked).rejects.toMatchObject({ code: "vm_not_running", message: reason });
  await killed;
  expect(engine.get("sbx_a")).toMatchObject({ status: "gone", reason });
  expect(engine.ended).toBeGreaterThan(before);
  expect(freed).toEqual([3, 3]);
});

test("one that is destroyed while it is being woken again leaves nothing, and its guest is not waited for", async () => {
  const { folder } = await cutOff();
  await using _control = await FakeQemu.listen(join(folder, "qmp.sock"));
  await engine.adopt(moves);
  const destroyed = engine.destroy("sbx_a", "exe_1");
  await destroyed;
  expect([engine.list(), freed]).toEqual([[], [3]]);
});

test("a clone that was not this VM's yet goes like any that waited: nobody was answered", async () => {
  const { folder } = await cutOff();
  await rename(folder, join(vmsFolder, "warm_a"));
  expect(await engine.adopt(moves)).toEqual({ running: 0, ended: 0, unreadable: 0, removed: 1 });
  expect(engine.list()).toEqual([]);
  await expect(readFile(join(vmsFolder, "warm_a/vm.json"))).rejects.toThrow("ENOENT");
});

test("secrets that a guest still lacks are not in its record, and it has them from the next host process", async () => {
  const record = await cutOff({ waking: { ...waking, has_secrets: true } });
  await using control = await FakeQemu.listen(join(record.folder, "qmp.sock"));
  control.status = "running";
  await keepSecrets(record, { KEY: "sealed" });
  expect(await recordOnDisk()).not.toContain("sealed");
  await engine.adopt(moves);
  const using = engine.use("sbx_a", "exe_1");
  const peer = await guest.peer();
  await peer.answerHello();
  const { id, operation } = await peer.opened();
  expect(operation).toMatchObject({
    op: "configure",
    hostname: "a",
    env: { TOKEN: "secret", KEY: "sealed" },
  });
  await peer.close(id, {});
  (await using)[Symbol.dispose]();
  await expect(keptSecrets(record)).rejects.toThrow("lost");
});

test("a guest whose secrets are gone, or are of another VM, ends instead of running without them", async () => {
  const record = await cutOff({ waking: { ...waking, has_secrets: true } });
  await using control = await FakeQemu.listen(join(record.folder, "qmp.sock"));
  control.status = "running";
  const other = { ...record, execution_id: "exe_0" };
  await keepSecrets(other, { KEY: "sealed" });
  const asked = engine.adopt(moves).then(() => engine.use("sbx_a", "exe_1"));
  asked.catch(() => undefined);
  await (await guest.peer()).answerHello();
  await expect(asked).rejects.toMatchObject({
    code: "vm_not_running",
    message: "its secrets were lost with its host",
  });
  await expect(keptSecrets(other)).rejects.toThrow("lost");
});

test("secrets of a guest that has died with its host are removed", async () => {
  const record = await cutOff({
    waking: { ...waking, has_secrets: true },
    process: { pid: process.pid, startTicks: 0 },
  });
  await keepSecrets(record, { KEY: "sealed" });
  await engine.adopt(moves);
  await expect.poll(() => engine.get("sbx_a").status).toBe("gone");
  await expect(keptSecrets(record)).rejects.toThrow("lost");
});
