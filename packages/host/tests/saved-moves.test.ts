// Saved guests from one host to another, where the connection may break off, the other side may lie, and files may be damaged: what is not there byte for
// byte is no saved guest, the source keeps its own, and nothing of the rest stays.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { TICKET_HEADER } from "@skerry/contract/host-api/move-calls";
import type { SavedArrivalOrder, SavedFiles } from "@skerry/contract/host-api/saved-moves";
import { newId } from "@skerry/contract/ids";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { run } from "../../../tests/support/run.ts";
import { asSkerryError } from "../src/http/conventions.ts";
import { NO_EGRESS } from "../src/network/egress-loader.ts";
import { memoryIn, PAGE_BYTES } from "./support/memory-pages.ts";
import { buildNative, type Native } from "./support/native.ts";
import { leave, recordIn, recordsIn } from "./support/records.ts";
import { here, MEMORY_BYTES, SavedHost, writeGuest } from "./support/saved-host.ts";

const ticket = "1".repeat(64);

let native: Native;
let folder: string;
let source: SavedHost;
let target: SavedHost;

beforeAll(async () => {
  native = await buildNative();
});

afterAll(() => native[Symbol.asyncDispose]());

beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-saved-");
  source = await SavedHost.start(join(folder, "source"), native.dataRanges);
  target = await SavedHost.start(join(folder, "target"), native.dataRanges);
});

afterEach(async () => {
  await source[Symbol.asyncDispose]();
  await target[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const vmId = newId("sandbox");

async function snapshotAtSource(): Promise<string> {
  const id = newId("snapshot");
  await writeGuest(source, vmId, { into: join(source.kept, id), withDisk: true });
  await source.restart();
  return id;
}

async function pausedAtSource(): Promise<string> {
  const below = await writeGuest(source, vmId, { into: join(source.vms, vmId), withDisk: false });
  await leave(
    recordIn(source.vms, vmId, { status: "paused", below, started_with: here, memory_of: "template" }),
  );
  await source.restart();
  return vmId;
}

const paused = {
  execution_id: newId("incarnation"),
  egress: { ...NO_EGRESS, mode: "deny_all" },
  egress_version: 4,
} as const;

async function orderFor(id: string, moveId = newId("move")): Promise<SavedArrivalOrder> {
  const manifest = await source.moves.manifest(id);
  return { move_id: moveId, ticket, manifest, ...(id === vmId ? { paused } : {}) };
}

async function move(id: string, order: SavedArrivalOrder) {
  const { layers } = await target.moves.receive(id, order);
  const departure = { move_id: order.move_id, address: target.address, ticket, layers };
  const departed = await source.moves.depart(id, departure);
  await target.moves.whole(id, order.move_id);
  return departed;
}

/** A call of the source to the target, or of a liar. */
function put(
  path: string,
  body: Buffer | string,
  { shown = ticket, cutOffWhen }: { shown?: string; cutOffWhen?: () => Promise<void> } = {},
): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const type = typeof body === "string" ? "application/json" : "application/octet-stream";
  const call = request({
    ...{ method: "PUT", socketPath: target.address.slice("unix:".length), path },
    headers: { "content-type": type, [TICKET_HEADER]: shown, host: "host" },
  });
  call.once("error", reject);
  call.once("response", (answer) => {
    let text = "";
    answer.setEncoding("utf8").on("data", (part: string) => (text += part));
    answer.once("end", () => resolve({ status: answer.statusCode ?? 0, text }));
  });
  if (cutOffWhen === undefined) call.end(body);
  else call.write(body, () => void cutOffWhen().then(() => call.destroy(), reject));
  return promise;
}

/** Nothing of a saved guest, whole or in parts. */
async function expectNothingAt(host: SavedHost): Promise<void> {
  expect(await readdir(host.kept)).toEqual([]);
  expect(await readdir(host.vms)).toEqual([]);
}

test.each([
  ["has no room", "size=1m", "no_capacity"],
  // The last block of a disk is used up before a folder is made, as the last inode is here.
  ["has room, and none for a folder", "size=4g,nr_inodes=1", "disk_full"],
])("a host whose disk %s says so, and nothing of what was to come is there", async (_what, options, code) => {
  const id = await snapshotAtSource();
  const order = await orderFor(id);
  await run("mount", "-t", "tmpfs", "-o", options, "none", target.kept);
  try {
    const told = await target.moves.receive(id, order).catch(asSkerryError);
    expect(told).toMatchObject({ code });
    await expectNothingAt(target);
  } finally {
    await run("umount", target.kept);
  }
});

test("a snapshot arrives with all of its memory, and stays where it was until it is deleted there", async () => {
  const id = await snapshotAtSource();
  await move(id, await orderFor(id));
  expect(target.snapshots.list()).toMatchObject([{ id, vm_id: vmId, runs_on: here }]);
  const memory = memoryIn(await readFile(join(target.kept, id, "memory")));
  expect([memory[0], memory[PAGE_BYTES], memory[2 * PAGE_BYTES], memory.length]).toEqual([
    1,
    2,
    0,
    MEMORY_BYTES,
  ]);
  for (const name of ["state", "disk.qcow2"])
    expect(await readFile(join(target.kept, id, name))).toEqual(await readFile(join(source.kept, id, name)));
  const { saved } = await target.snapshots.whole(id);
  expect(saved.memory_of).toBe("own");
  expect(await readFile(saved.below.frozen_disk, "utf8")).toBe("what the template has written");
  expect(source.snapshots.list()).toHaveLength(1);
  await target.restart();
  expect(await readdir(target.kept)).toEqual([id]);
  await target.snapshots.whole(id);
});

test("from there it goes on to a third place as it is", async () => {
  const id = await snapshotAtSource();
  await move(id, await orderFor(id));
  const before = await readFile(join(target.kept, id, "memory"));
  await source.snapshots.delete(id);
  [source, target] = [target, source];
  await move(id, await orderFor(id));
  expect(await readFile(join(target.kept, id, "memory"))).toEqual(before);
});

test("a paused sandbox arrives as one that is paused, in a life of its own and under control's policy", async () => {
  const id = await pausedAtSource();
  await move(id, await orderFor(id));
  await target.restart();
  const [found] = await recordsIn(target.vms);
  expect(found?.record).toMatchObject({ id, status: "paused", memory_of: "own", ...paused });
  expect(await readFile(join(target.vms, id, "disk.qcow2"))).toEqual(Buffer.alloc(99_999, 3));
  // Its QEMU has a user of its own.
  expect((await stat(join(target.vms, id))).mode & 0o777).toBe(0o711);
  expect(await readdir(target.kept)).toEqual([]);
  expect((await recordsIn(source.vms))[0]?.record?.status).toBe("paused");
});

test("the same orders twice are one move", async () => {
  const id = await snapshotAtSource();
  const order = await orderFor(id);
  await Promise.all([target.moves.receive(id, order), target.moves.receive(id, order)]);
  const departed = await move(id, order);
  expect(await move(id, order)).toEqual(departed);
});

test.each(["memory", "state", "disk.qcow2"])("with a damaged %s it does not leave", async (name) => {
  const id = await snapshotAtSource();
  const file = join(source.kept, id, name);
  const content = await readFile(file);
  content[content.length - 1] = 9;
  await writeFile(file, content);
  const order = await orderFor(id);
  await expect(move(id, order)).rejects.toMatchObject({ code: "snapshot_damaged" });
  await target.moves.forget(id, order.move_id);
  await expectNothingAt(target);
});

test("what is given up in the middle leaves nothing, and its source ends too", async () => {
  const id = await snapshotAtSource();
  const order = await orderFor(id);
  const { layers } = await target.moves.receive(id, order);
  const sent = put(`/saved/${id}/arrival/files/disk`, Buffer.alloc(70_000, 1), {
    cutOffWhen: async () => {
      const [part = ""] = await readdir(target.kept);
      const bytes = () =>
        stat(join(target.kept, part, "disk.qcow2")).then(
          ({ size }) => size,
          () => 0,
        );
      await expect.poll(bytes).toBe(70_000);
    },
  });
  await expect(sent).rejects.toThrow("socket hang up");
  await target.moves.forget(id, order.move_id);
  await expectNothingAt(target);
  const departure = { move_id: order.move_id, address: target.address, ticket, layers };
  await expect(source.moves.depart(id, departure)).rejects.toMatchObject({ code: "move_failed" });
  expect(source.snapshots.list()).toHaveLength(1);
});

test("a target that is killed in the middle has nothing of it when it is back, and takes it then", async () => {
  const id = await snapshotAtSource();
  const order = await orderFor(id);
  await target.moves.receive(id, order);
  await put(`/saved/${id}/arrival/files/state`, Buffer.from("its registers"));
  expect(await readdir(target.kept)).toHaveLength(1);
  await target.restart();
  await expectNothingAt(target);
  await expect(target.moves.whole(id, order.move_id)).rejects.toMatchObject({ code: "move_refused" });
  await move(id, await orderFor(id));
});

test("a whole one is forgotten with its own move, and with no other", async () => {
  const id = await snapshotAtSource();
  const order = await orderFor(id);
  await move(id, order);
  await target.restart();
  await target.moves.forget(id, newId("move"));
  expect(await readdir(target.kept)).toEqual([id]);
  await target.moves.forget(id, order.move_id);
  await expectNothingAt(target);
});

const sums: SavedFiles = {
  memory: { bytes: 1, crc32: crc32("m") },
  state: { bytes: 1, crc32: crc32("s") },
  disk: { bytes: 1, crc32: crc32("d") },
};

test.each<[string, SavedFiles | undefined, RegExp]>([
  ["other checksums", { ...sums, state: { bytes: 1, crc32: 1 } }, /not what was sent/],
  ["another length", { ...sums, disk: { ...sums.disk, bytes: 2 } }, /not what was sent/],
  ["no sums at all", undefined, /bad_request/],
])("a source that sends files with %s has sent nothing", async (_what, said, why) => {
  const id = await snapshotAtSource();
  const order = await orderFor(id);
  await target.moves.receive(id, order);
  for (const [name, text] of Object.entries({ memory: "m", state: "s", disk: "d" }))
    expect((await put(`/saved/${id}/arrival/files/${name}`, Buffer.from(text))).status).toBe(200);
  const { status, text } = await put(`/saved/${id}/arrival/seal`, JSON.stringify(said ?? {}));
  expect(status).toBeGreaterThanOrEqual(400);
  expect(text).toMatch(why);
  expect(target.snapshots.list()).toEqual([]);
  await target.moves.forget(id, order.move_id);
  await expectNothingAt(target);
});

test("files that have not come are not sealed, and layers that nobody asked for are not taken", async () => {
  const id = await snapshotAtSource();
  const order = await orderFor(id);
  await target.moves.receive(id, order);
  const layer = createHash("sha256").digest("hex");
  expect((await put(`/saved/${id}/arrival/layers/${layer}`, Buffer.alloc(8))).text).toMatch(/not asked/);
  expect((await put(`/saved/${id}/arrival/seal`, JSON.stringify(sums))).text).toMatch(/not what was sent/);
  expect(target.snapshots.list()).toEqual([]);
});

test("a source that seals before it has sent all layers is refused, and the move can be given up", async () => {
  const id = await snapshotAtSource();
  const order = await orderFor(id);
  const { layers } = await target.moves.receive(id, order);
  expect(layers).toHaveLength(2);
  for (const [name, text] of Object.entries({ memory: "m", state: "s", disk: "d" }))
    expect((await put(`/saved/${id}/arrival/files/${name}`, Buffer.from(text))).status).toBe(200);
  const { status, text } = await put(`/saved/${id}/arrival/seal`, JSON.stringify(sums));
  expect(status).toBeGreaterThanOrEqual(400);
  expect(text).toMatch(/The layer [0-9a-f]{64} has not come/);
  await target.moves.forget(id, order.move_id);
  await expectNothingAt(target);
});

test("a file that is larger than it can be is cut off", async () => {
  const id = await snapshotAtSource();
  await target.moves.receive(id, await orderFor(id));
  const sent = put(`/saved/${id}/arrival/files/state`, Buffer.alloc(64 * 1024 ** 2 + 1)).then(
    ({ text }) => text,
  );
  // The target may hang up before all of it is on its way.
  await expect(sent.catch(() => "too large")).resolves.toMatch(/too large/);
});

test("a ticket opens one move, and each of its files once", async () => {
  const id = await snapshotAtSource();
  await target.moves.receive(id, await orderFor(id));
  const path = `/saved/${id}/arrival/files/state`;
  expect((await put(path, Buffer.from("s"), { shown: "2".repeat(64) })).status).toBe(403);
  expect((await put(`/saved/${newId("snapshot")}/arrival/files/state`, Buffer.from("s"))).status).toBe(403);
  expect((await put(path, Buffer.from("s"))).status).toBe(200);
  expect((await put(path, Buffer.from("t"))).status).toBe(403);
});

test("a target that says to have got something else is not believed", async () => {
  const id = await snapshotAtSource();
  const order = await orderFor(id);
  await using liar = createServer((call, answer) => {
    call.resume().once("end", () => answer.end('{"bytes":13,"crc32":1}'));
  }).listen(join(folder, "liar.sock"));
  await once(liar, "listening");
  const departure = {
    move_id: order.move_id,
    address: `unix:${join(folder, "liar.sock")}`,
    ticket,
    layers: [],
  };
  await expect(source.moves.depart(id, departure)).rejects.toThrow(/not got the file "state"/);
});

test("a host that could not go on with it refuses it, and says why", async () => {
  const id = await snapshotAtSource();
  await target.restart({ compatibility: async () => ({ ...here, accelerator: "kvm" }) });
  const refused = target.moves.receive(id, await orderFor(id));
  await expect(refused).rejects.toMatchObject({ code: "move_refused" });
  await expect(refused).rejects.toThrow(/the accelerator is kvm there and tcg here/);
});

test("one that is there already is not written over", async () => {
  const id = await snapshotAtSource();
  await move(id, await orderFor(id));
  await expect(target.moves.receive(id, await orderFor(id))).rejects.toMatchObject({ code: "move_refused" });
  expect(target.snapshots.list()).toHaveLength(1);
});
