// The target's side of a move whose source may lie, and whose own process may be killed at any line.

import { createHash } from "node:crypto";
import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { ArrivalOrder } from "@skerry/contract/host-api/move-calls";
import { DEFAULT_SIZE, findSize, type Size } from "@skerry/contract/sizes";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Arrival, type ArrivalOptions } from "../src/move/arrival.ts";
import { Layers } from "../src/vm/disk/layers.ts";
import { NewVm } from "../src/vm/creation/new-vm.ts";
import { watchDiskReserve } from "../src/vm/disk/disk-reserve.ts";
import { FakeGuest } from "./support/fake-guest.ts";
import { FakeQemu } from "./support/fake-qemu.ts";
import { leave, recordIn, recordsIn } from "./support/records.ts";
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

function optionsWith(resources: object): ArrivalOptions {
  const library = { disks: async () => ({ root_image: [], frozen_disk: [] }) };
  const layers = new Layers(join(disk.folder, "layers"), "");
  // More of the room and the library is not asked for here.
  return { resources, library, layers, vmsFolder } as unknown as ArrivalOptions;
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

/** An arrival that lacks one layer. */
async function incomplete(signal: AbortSignal) {
  const digest = createHash("sha256").digest("hex");
  const order = {
    manifest: { template: "base", disk_gib: 1, below: { root_image: digest, frozen_disk: digest } },
  } as ArrivalOrder;
  const arrival = new Arrival(optionsWith({}), order);
  const brought = arrival.bringUp(new NewVm(recordIn(vmsFolder, "sbx_a")), size, signal);
  brought.catch(() => undefined); // awaited by the test
  await arrival.needs;
  return { arrival, brought, digest };
}

test.each([
  ["is larger than the disk that room was made for", 1_024 * GIB, "it is too large"],
  ["is as large as it may be, and fills the disk", GIB, "The host's disk is nearly full."],
])("a layer that %s is refused, and nothing of it stays", async (_what, bytes, why) => {
  const { arrival, brought, digest } = await incomplete(never);
  const received = arrival.receiveLayer(digest, Readable.from(fullLayer(bytes)));
  await expect(received).rejects.toThrow(why);
  await expect(brought).rejects.toThrow(why);
  expect(await readdir(join(disk.folder, "layers"))).toEqual([]);
});

test("a layer whose source has fallen silent goes with its move", async () => {
  const move = new AbortController();
  const { arrival, brought, digest } = await incomplete(move.signal);
  const silent = new Readable({ read: () => undefined });
  const received = arrival.receiveLayer(digest, silent);
  silent.push(Buffer.alloc(8));
  await expect.poll(() => readdir(join(disk.folder, "layers"))).toHaveLength(1);
  move.abort(new Error("the VM was destroyed"));
  await expect(brought).rejects.toThrow("the VM was destroyed");
  await expect(received).rejects.toThrow("aborted");
  expect(await readdir(join(disk.folder, "layers"))).toEqual([]);
});

test("what others write to a disk is stopped when it gets low", async () => {
  const low = expect(watchDiskReserve(vmsFolder, never)).rejects.toMatchObject({ code: "no_capacity" });
  await writeFile(join(disk.folder, "large"), Buffer.alloc(8 * 1_024 ** 2));
  await low;
});

test("the policy that a VM goes on under is in its record before it is in force", async () => {
  await using guest = await FakeGuest.start();
  const arrived = { status: "creating", arrival: { move_id: "mov_1", whole: true } } as const;
  const record = await leave(recordIn(vmsFolder, "sbx_a", arrived));
  await symlink(guest.path, join(record.folder, "agent.sock"));
  await using qemu = await FakeQemu.listen(join(record.folder, "qmp.sock"));
  const seen: string[] = [];
  const look = async (when: string): Promise<void> => {
    const saved = (await recordsIn(vmsFolder))[0]?.record;
    seen.push(`${when}: ${saved?.egress.mode} ${saved?.egress_version}`);
  };
  qemu.before = async (command) => (command === "cont" ? look("goes on") : undefined);
  const resources = {
    slots: { slot: (number: number) => ({ number }) },
    egress: { replace: () => look("in force") },
  };
  const arrival = new Arrival(optionsWith(resources), undefined);
  const brought = arrival.bringUp(new NewVm(record), size, never);
  await arrival.whole;
  arrival.resume({ egress: { ...record.egress, mode: "allow_all" }, egress_version: 3 });
  const peer = await guest.peer();
  await peer.answerHello();
  await peer.close((await peer.opened()).id, {});
  const { qmp, channel } = await brought;
  expect(seen).toEqual(["in force: allow_all 3", "goes on: allow_all 3"]);
  channel.close("the test is over");
  qmp.close();
});
