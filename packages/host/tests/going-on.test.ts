// A QEMU, or a host process, that ends while a paused sandbox is resumed: what was saved is there until its
// guest is known to run.

import type { ChildProcess } from "node:child_process";
import { appendFile, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { NewVm } from "../src/vm/creation/new-vm.ts";
import { resumePaused } from "../src/vm/creation/from-saved.ts";
import type { VmEngine } from "../src/vm/engine/engine.ts";
import { Qmp } from "../src/vm/qemu/qmp.ts";
import type { VmRecord } from "../src/vm/record/record.ts";
import { beginToGoOn } from "../src/vm/saved/going-on.ts";
import { FakeGuest } from "./support/fake-guest.ts";
import { FakeQemu } from "./support/fake-qemu.ts";
import { identityOf, leave, recordIn, recordsIn } from "./support/records.ts";
import { EngineStub, idle, noMoves } from "./support/stub-engine.ts";

let vms: string;
let engine: VmEngine;
let child: ChildProcess;
beforeEach(async () => {
  vms = await mkdtemp("/tmp/skerry-unit-going-on-");
  engine = new EngineStub(1_899_500_000).engineIn(vms);
  child = await idle();
});
afterEach(async () => {
  engine.close();
  child.kill("SIGKILL");
  await rm(vms, { recursive: true, force: true, maxRetries: 50 });
});

const savedFiles = ["memory", "saved.json", "state"];
const keptOf = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => savedFiles.includes(name)).sort();

/** A paused sandbox whose QEMU is about to let its guest go on. */
async function aboutToRun(changes: Partial<VmRecord> = {}): Promise<VmRecord> {
  const paused = recordIn(vms, "sbx_a", { execution_id: "exe_2", status: "paused", process: undefined });
  const { folder } = await leave(paused);
  for (const name of [...savedFiles, "disk.qcow2"]) await writeFile(join(folder, name), "saved");
  const record = { ...paused, process: await identityOf(child), ...changes };
  await beginToGoOn(record);
  return record;
}

const killed = async (): Promise<void> => {
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await gone;
};

test("a host process finds a sandbox paused whose QEMU has ended before its guest had done anything", async () => {
  const { folder } = await aboutToRun();
  await killed();
  await engine.adopt(noMoves);
  await expect.poll(async () => (await recordsIn(vms))[0]?.record?.status).toBe("paused");
  expect(engine.get("sbx_a")).toMatchObject({ status: "paused", execution_id: "exe_2", reason: null });
  expect(await keptOf(folder)).toEqual(savedFiles);
});

test("one whose guest has written to its disk since is never resumed from what was saved before", async () => {
  const { folder } = await aboutToRun();
  await appendFile(join(folder, "disk.qcow2"), "x");
  await killed();
  await engine.adopt(noMoves);
  await expect.poll(() => engine.get("sbx_a").status).toBe("gone");
});

test("a host process that finds the guest running adopts it, and what was saved goes", async () => {
  await using guest = await FakeGuest.start();
  const { folder } = await aboutToRun();
  await using qemu = await FakeQemu.listen(join(folder, "qmp.sock"));
  qemu.status = "running";
  await symlink(guest.path, join(folder, "agent.sock"));
  await engine.adopt(noMoves);
  expect(await keptOf(folder)).toEqual(savedFiles);
  await (await guest.peer()).answerHello();
  await engine.adopted("sbx_a");
  expect([engine.get("sbx_a").status, await keptOf(folder)]).toEqual(["running", []]);
});

test("a host process whose QEMU ends while it is adopted, before the guest goes on, has the sandbox paused", async () => {
  const { folder } = await aboutToRun();
  const qemu = await FakeQemu.listen(join(folder, "qmp.sock"));
  qemu.before = async (command) => {
    if (command === "cont") await qemu[Symbol.asyncDispose]();
  };
  await engine.adopt(noMoves);
  await expect.poll(() => engine.get("sbx_a").status).toBe("paused");
  expect([await keptOf(folder), child.exitCode ?? child.signalCode]).toEqual([savedFiles, "SIGKILL"]);
});

test.each([
  ["has not written to its disk", "saved", true],
  ["has", "other", false],
])(
  "where QEMU ends as it lets a guest go on that %s, the sandbox is paused only if its disk is as it was",
  async (_what, disk, stays) => {
    const record = await aboutToRun();
    const socket = join(record.folder, "qmp.sock");
    const qemu = await FakeQemu.listen(socket);
    qemu.before = async (command) => {
      if (command !== "cont") return;
      if (disk !== "saved") await writeFile(join(record.folder, "disk.qcow2"), disk);
      await qemu[Symbol.asyncDispose]();
    };
    const qmp = await Qmp.connect(socket, AbortSignal.timeout(5_000));
    const newVm = new NewVm(record);
    newVm.staysPaused = true;
    const connecting = new Promise<never>(() => undefined);
    await expect(resumePaused(newVm, { qmp, connecting })).rejects.toMatchObject({ code: "guest_failed" });
    expect([newVm.staysPaused, await keptOf(record.folder)]).toEqual([stays, savedFiles]);
    expect(child.exitCode ?? child.signalCode).toBe("SIGKILL");
  },
);

test("once the guest has answered, nothing of what was saved is there, and it is not paused any more", async () => {
  await using guest = await FakeGuest.start();
  const record = await aboutToRun();
  const socket = join(record.folder, "qmp.sock");
  await using _qemu = await FakeQemu.listen(socket);
  const qmp = await Qmp.connect(socket, AbortSignal.timeout(5_000));
  const newVm = new NewVm(record);
  newVm.staysPaused = true;
  const { channel } = await guest.greeted();
  const answered = Promise.withResolvers<typeof channel>();
  const resumed = resumePaused(newVm, { qmp, connecting: answered.promise });
  expect(await keptOf(record.folder)).toEqual(savedFiles);
  answered.resolve(channel);
  await resumed;
  expect([newVm.staysPaused, await keptOf(record.folder)]).toEqual([false, []]);
  qmp.close();
  channel.close("the test is over");
});
