// A real QEMU whose VM is to leave, and a target that is not what it should be: whatever that one does or leaves undone, the VM goes on here.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { MOVE_PROTOCOL } from "@skerry/contract/host-api/move-calls";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Departure, type DepartureOptions } from "../src/move/departure.ts";
import { Peers, splice } from "../src/move/peers.ts";
import { runProgram } from "../src/system/run.ts";
import { arrived, awaitArrival, moveSockets } from "../src/vm/qemu/migration.ts";
import { Qmp, runState } from "../src/vm/qemu/qmp.ts";
import { GuestHalt } from "../src/vm/lifecycle/guest-halt.ts";
import { FakeGuest, type Peer } from "./support/fake-guest.ts";
import { recordIn } from "./support/records.ts";

const log = pino({ level: "silent" });
/** What an NBD server says first. */
const NBD_GREETING = Buffer.from("NBDMAGICIHAVEOPT\x00\x03", "latin1");

let folder: string;
let guest: FakeGuest;
let peer: Peer;
let guestHalt: GuestHalt;
let source: Qemu;
let target: Server;
let streams: Duplex[];
let steps: string[];

interface Qemu extends AsyncDisposable {
  readonly qmp: Qmp;
  readonly folder: string;
}

/** One with a disk and without a guest. */
async function startQemu(name: string, ...more: string[]): Promise<Qemu> {
  const own = join(folder, name);
  await mkdir(own);
  const machine = ["-M", "none", "-nodefaults", "-display", "none", ...more];
  const disk = ["-blockdev", "driver=null-co,node-name=root,size=1048576,read-zeroes=on"];
  const control = ["-qmp", "unix:qmp.sock,server=on,wait=off"];
  const child = spawn("qemu-system-x86_64", [...machine, ...disk, ...control], { cwd: own, stdio: "ignore" });
  const qmp = await Qmp.connect(join(own, "qmp.sock"), AbortSignal.timeout(20_000));
  return {
    qmp,
    folder: own,
    async [Symbol.asyncDispose]() {
      qmp.close();
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-departure-");
  source = await startQemu("source");
  guest = await FakeGuest.start();
  streams = [];
  steps = [];
});

afterEach(async () => {
  await source[Symbol.asyncDispose]();
  for (const stream of streams) stream.destroy();
  await new Promise((resolve) => target.close(resolve));
  await guest[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** A host that does this with whoever wants to speak to its QEMU. */
async function listen(meet: (stream: Duplex, path: string) => void): Promise<void> {
  target = createServer();
  target.on("upgrade", (request, stream: Duplex) => {
    streams.push(stream.on("error", () => undefined));
    meet(stream, request.url ?? "");
  });
  target.listen(join(folder, "target.sock"));
  await once(target, "listening");
}

function admit(stream: Duplex): void {
  const head = `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${MOVE_PROTOCOL}`;
  stream.write(`${head}\r\n\r\n`);
}

function peersThatWait(silentMs: number): Peers {
  return new Peers(() => undefined, { connectMs: 60_000, admitMs: silentMs, silentMs });
}

async function depart(changes: Partial<DepartureOptions> = {}): Promise<Departure> {
  let channel;
  ({ channel, peer } = await guest.greeted());
  const live = { qmp: source.qmp, channel };
  guestHalt = new GuestHalt(live, log, { atOnce: false });
  return new Departure({
    live,
    guestHalt,
    record: recordIn(folder, "sbx_a", { folder: source.folder }),
    uid: process.getuid?.() ?? 0,
    order: {
      move_id: "mov_1",
      execution_id: "exe_1",
      address: `unix:${join(folder, "target.sock")}`,
      ticket: "0".repeat(64),
      layers: [],
    },
    begin: async () => void steps.push("begins"),
    goneOn: async () => void steps.push("goes on"),
    layer: () => Promise.reject(new Error("nobody asks for one")),
    peers: peersThatWait(60_000),
    log,
    ...changes,
  });
}

test.each([
  ["never answers", () => undefined],
  ["lets it in and falls silent", admit],
  ["greets and then falls silent", (stream: Duplex) => (admit(stream), void stream.write(NBD_GREETING))],
])("a VM goes on at home when a target %s", async (_what, meet) => {
  await listen(meet);
  const departure = await depart({ peers: peersThatWait(300) });
  await expect(departure.done).rejects.toMatchObject({ code: "move_failed" });
  expect(await runState(source.qmp)).toBe("running");
  expect(steps).toEqual(["begins", "goes on"]);
});

test("who wants a VM back is told that it does not go on, and can try again", async () => {
  await listen((stream) => stream.destroy());
  let isDiskFull = true;
  const departure = await depart({
    goneOn: async () => {
      if (isDiskFull) throw new Error("the disk is full");
      steps.push("goes on");
    },
  });
  await expect(departure.done).rejects.toMatchObject({ code: "move_failed" });
  await expect(departure.stay()).rejects.toThrow("The VM does not go on yet: the disk is full");
  expect(steps).toEqual(["begins"]);
  isDiskFull = false;
  await Promise.all([departure.stay(), departure.stay()]);
  expect(steps).toEqual(["begins", "goes on"]);
  expect(await runState(source.qmp)).toBe("running");
});

test("a move that is canceled while its target is silent leaves the VM at home", async () => {
  await listen(admit);
  const departure = await depart();
  await expect.poll(() => streams.length).toBe(1);
  await departure.stay();
  await expect(departure.done).rejects.toMatchObject({ code: "canceled" });
  expect([await runState(source.qmp), steps]).toEqual(["running", ["begins", "goes on"]]);
});

/** The QEMU of a target that does what it should. */
async function willing(): Promise<Qemu> {
  const other = await startQemu("target", "-S", "-incoming", "defer");
  await awaitArrival(other.qmp);
  await listen((stream, path) => {
    admit(stream);
    const socket = connect(join(other.folder, moveSockets[path.endsWith("disk") ? "disk" : "memory"]));
    splice(
      stream,
      socket.on("error", () => undefined),
    );
  });
  return other;
}

test("a VM is whole at a target that does as it should, and stands still at home until it is wanted back", async () => {
  await using other = await willing();
  const departure = await depart();
  const departed = await departure.done;
  expect([departed.disk_bytes > 0, departed.memory_bytes > 0]).toEqual([true, true]);
  await arrived(other.qmp, AbortSignal.timeout(20_000));
  expect(await runState(source.qmp)).toBe("postmigrate");
  const stays = departure.stay();
  await peer.close((await peer.opened()).id, {}); // it is woken
  await stays;
  expect([await runState(source.qmp), steps]).toEqual(["running", ["begins", "goes on"]]);
});

test("a target that falls silent when the disk is copied holds up neither the VM nor what is written in it", async () => {
  await using _other = await willing();
  const written = await writer();
  const departure = await depart({ peers: peersThatWait(3_000) });
  using _user = await guestHalt.use();
  await expect.poll(() => mirrorStatus()).toBe("ready");
  streams[0]?.unpipe();
  const write = written();
  await expect(departure.done).rejects.toThrow("The target has fallen silent.");
  expect(await write).toContain("wrote 65536/65536 bytes");
  expect([await runState(source.qmp), steps]).toEqual(["running", ["begins", "goes on"]]);
});

async function mirrorStatus(): Promise<string | undefined> {
  const jobs = (await source.qmp.execute("query-jobs")) as { status: string }[];
  return jobs[0]?.status;
}

/** Writes to the disk like a guest, who uses it since before it is copied. */
async function writer(): Promise<() => Promise<string>> {
  const path = join(source.folder, "guest.sock");
  await source.qmp.execute("nbd-server-start", { addr: { type: "unix", data: { path } } });
  const disk = { type: "nbd", id: "guest", name: "root", "node-name": "root", writable: true };
  await source.qmp.execute("block-export-add", disk);
  const args = ["-f", "raw", "-c", "write 0 64k", `nbd+unix:///root?socket=${path}`];
  return () => runProgram("qemu-io", args, { deadlineMs: 60_000 });
}
