// A QEMU that ends while its VM is paused: the caller of the pause is told so, and the VM is listed as ended.

import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { KeyedQueue } from "../src/system/keyed-queue.ts";
import { VmLifecycle } from "../src/vm/lifecycle/vm-lifecycle.ts";
import { VmTable } from "../src/vm/lifecycle/vm-table.ts";
import { Qmp } from "../src/vm/qemu/qmp.ts";
import { saveRecord, type VmRecord } from "../src/vm/record/record.ts";
import { PauseRequests } from "../src/vm/saved/pause-requests.ts";
import type { HostResources } from "../src/vm/record/vm-resources.ts";
import { FakeGuest } from "./support/fake-guest.ts";
import { FakeQemu } from "./support/fake-qemu.ts";
import { recordIn } from "./support/records.ts";

/** Users of this file's own. */
const FIRST_VM_UID = 2_130_000_000;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-ends-");
});
afterEach(() => rm(folder, { recursive: true }));

const host = { emulator: "9.0", machine: "q35", accelerator: "tcg", cpu: "max", tsc_khz: null };

async function running(guest: FakeGuest) {
  const record = {
    ...recordIn(folder, "sbx_1"),
    ...{ below: { root_image: "/nowhere" }, memory_of: "own", started_with: host },
  } as unknown as VmRecord;
  await mkdir(record.folder, { recursive: true });
  await saveRecord(record);
  const socket = join(record.folder, "qmp.sock");
  const qemu = await FakeQemu.listen(socket);
  const qmp = await Qmp.connect(socket, AbortSignal.timeout(5_000));
  const { channel } = await guest.greeted();
  const closed: number[] = [];
  const resources = {
    slots: {
      slot: (number: number) => ({ number }),
      close: async ({ number }: { number: number }) => void closed.push(number),
    },
    cgroups: { remove: async () => undefined },
    denials: { last: async () => undefined },
    firstVmUid: FIRST_VM_UID,
    deadlines: { freezeMs: 5_000 },
  } as unknown as HostResources;
  const table = new VmTable();
  const shared = { resources, table, slotWork: new KeyedQueue(), log: pino({ level: "silent" }) };
  const lifecycle = new VmLifecycle({ ...shared, isAsSaved: async () => false });
  lifecycle.watch(record, { qmp, channel }, undefined);
  const pauses = new PauseRequests({ ...shared, lifecycle });
  const kill = () => qemu[Symbol.asyncDispose]();
  return { qemu, qmp, channel, kill, table, lifecycle, pauses, closed, record };
}

const order = { execution_id: "exe_1" } as const;
const KILLED = "the microVM's QEMU process was killed or crashed";

test.each(["stop", "human-monitor-command", "migrate"])(
  "a QEMU that ends at the %s of a pause has ended, and the pause says why",
  async (command) => {
    await using guest = await FakeGuest.start();
    const { qemu, kill, table, lifecycle, pauses, closed, record } = await running(guest);
    qemu.before = async (told) => {
      if (told === command) await kill();
    };
    const before = lifecycle.ended;
    await expect(pauses.pause("sbx_1", order)).rejects.toMatchObject({
      code: "vm_not_running",
      message: KILLED,
    });
    expect(table.find("sbx_1")).toMatchObject({
      state: "ended",
      record: { status: "gone", cause: "qemu_ended", reason: KILLED },
    });
    expect([lifecycle.ended, closed]).toEqual([before + 1, [3]]);
    expect(JSON.parse(await readFile(join(record.folder, "vm.json"), "utf8"))).toMatchObject({
      status: "gone",
    });
    // Asked once more, as control does.
    await expect(pauses.pause("sbx_1", order)).rejects.toMatchObject({ code: "vm_not_running" });
  },
);

test("a VM that is destroyed while it is paused is gone, and the pause says that it does not run", async () => {
  await using guest = await FakeGuest.start();
  const { qemu, qmp, channel, table, lifecycle, pauses, record } = await running(guest);
  const reached = Promise.withResolvers<void>();
  qemu.before = async (told) => {
    if (told !== "human-monitor-command") return;
    reached.resolve();
    await new Promise(() => undefined);
  };
  const pause = expect(pauses.pause("sbx_1", order)).rejects.toMatchObject({ code: "vm_not_running" });
  await reached.promise;
  // As `EndRequests.destroy` does.
  qmp.close();
  channel.close("the VM was destroyed");
  await lifecycle.end(record, undefined);
  await pause;
  expect(table.find("sbx_1")).toBeUndefined();
  await qemu[Symbol.asyncDispose]();
});

test("a host process that ends during a pause has not ended the VM, and says that it is itself restarted", async () => {
  await using guest = await FakeGuest.start();
  const { qemu, qmp, channel, table, lifecycle, pauses, closed } = await running(guest);
  qemu.before = async (told) => {
    if (told !== "human-monitor-command") return;
    lifecycle.close();
    qmp.close();
    channel.close("the host is stopping");
  };
  await expect(pauses.pause("sbx_1", order)).rejects.toMatchObject({ code: "host_unavailable" });
  expect([table.find("sbx_1")?.record.status, closed]).toEqual(["running", []]);
  await qemu[Symbol.asyncDispose]();
});
