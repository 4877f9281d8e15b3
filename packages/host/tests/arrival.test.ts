// The target's side of a move whose source may lie, and whose own process may be killed at any line.

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import type { ArrivalOrder } from "@skerry/contract/host-moves";
import { DEFAULT_SIZE, findSize, type Size } from "@skerry/contract/sizes";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Arrival, type ArrivalOptions } from "../src/move/arrival.ts";
import { Layers } from "../src/move/layers.ts";
import { diskIsLow } from "../src/vm/disk-reserve.ts";
import { saveRecord, type VmRecord } from "../src/vm/record.ts";
import { FakeGuest } from "./support/fake-guest.ts";
import { mountSmallDisk, type SmallDisk } from "./support/small-disk.ts";

const BLOCK_BYTES = 64 * 1024;
const GIB = 1024 ** 3;
const never = new AbortController().signal;
const size = findSize(DEFAULT_SIZE) as Size;

let disk: SmallDisk;
let vmsFolder: string;

/** On a disk with 4 MiB more than what a host keeps back. */
beforeEach(async () => {
  disk = await mountSmallDisk("arrival", 2 * 1_024 + 4);
  vmsFolder = join(disk.folder, "vms");
  await mkdir(vmsFolder);
});

afterEach(() => disk[Symbol.asyncDispose]());

function optionsWith(room: object): ArrivalOptions {
  return {
    room,
    library: { disks: async () => ({ root_image: [], frozen_disk: [] }) },
    layers: new Layers(join(disk.folder, "layers"), ""),
    vmsFolder,
  } as unknown as ArrivalOptions;
}

function recordOf(changes: Partial<VmRecord>): VmRecord {
  return {
    ...{ id: "sbx_a", execution_id: "exe_2", template: "base", size: size.name },
    ...{ status: "creating", reason: null, started_at: "2026-11-20T16:21:09.123Z" },
    ...{ name: "unit:sbx_a:exe_2", folder: join(vmsFolder, "sbx_a"), slot: 3, process: undefined },
    egress: { mode: "deny_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: false },
    egress_version: 1,
    ...changes,
  };
}

/** A layer of this size in which every block holds something. */
async function* fullLayer(bytes: number): AsyncGenerator<Buffer> {
  const head = Buffer.alloc(8);
  head.writeBigUInt64LE(BigInt(bytes));
  yield head;
  const block = Buffer.alloc(4 + BLOCK_BYTES, 1);
  for (let number = 0; number < bytes / BLOCK_BYTES; number += 1) {
    block.writeUInt32LE(number);
    yield Buffer.from(block);
  }
}

test.each([
  ["is larger than the disk that room was made for", 1_024 * GIB, "it is too large"],
  ["is as large as it may be, and fills the disk", GIB, "The host's disk is nearly full."],
])("a layer that %s is refused, and nothing of it stays", async (_what, bytes, why) => {
  const digest = createHash("sha256").digest("hex");
  const order = {
    luggage: { template: "base", disk_gib: 1, below: { root_image: digest, frozen_disk: digest } },
  } as ArrivalOrder;
  const arrival = new Arrival(optionsWith({}), order);
  const brought = arrival.bringUp({ record: recordOf({}) }, size, never);
  brought.catch(() => undefined); // awaited below
  await arrival.needs;
  await expect(arrival.receiveLayer(digest, fullLayer(bytes))).rejects.toThrow(why);
  await expect(brought).rejects.toThrow(why);
  expect(await readdir(join(disk.folder, "layers"))).toEqual([]);
});

test("what others write to a disk is stopped when it gets low", async () => {
  const low = expect(diskIsLow(vmsFolder, never)).rejects.toMatchObject({ code: "no_capacity" });
  await writeFile(join(disk.folder, "large"), Buffer.alloc(8 * 1_024 ** 2));
  await low;
});

test("the policy that a VM goes on under is in its record before it is in force", async () => {
  await using guest = await FakeGuest.start();
  const record = recordOf({ arrival: { move_id: "mov_1", whole: true } });
  await mkdir(record.folder);
  await saveRecord(record);
  await symlink(guest.path, join(record.folder, "agent.sock"));
  const seen: string[] = [];
  const look = async (when: string): Promise<void> => {
    const saved = JSON.parse(await readFile(join(record.folder, "vm.json"), "utf8")) as VmRecord;
    seen.push(`${when}: ${saved.egress.mode} ${saved.egress_version}`);
  };
  const qemu = createServer((socket) => {
    socket.write('{"QMP":{}}\n');
    socket.on("data", (text) => {
      const { execute } = JSON.parse(text.toString()) as { execute: string };
      void (execute === "cont" ? look("goes on") : Promise.resolve()).then(() =>
        socket.write('{"return":{"status":"paused"}}\n'),
      );
    });
  });
  qemu.listen(join(record.folder, "qmp.sock"));
  const room = {
    slots: { slot: (number: number) => ({ number }) },
    egress: { replace: () => look("in force") },
  };
  const arrival = new Arrival(optionsWith(room), undefined);
  const brought = arrival.bringUp({ record }, size, never);
  await arrival.whole;
  arrival.resume({ egress: { ...record.egress, mode: "allow_all" }, egress_version: 2 });
  const peer = await guest.peer();
  await peer.answerHello();
  await peer.close((await peer.opened()).id, {});
  const { qmp, channel } = await brought;
  expect(seen).toEqual(["in force: allow_all 2", "goes on: allow_all 2"]);
  channel.close("the test is over");
  qmp.close();
  await new Promise((resolve) => qemu.close(resolve));
});
