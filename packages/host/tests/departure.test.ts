// A real QEMU whose VM is to leave, and a target that is not what it should be: whatever that one does or leaves undone, the VM goes on here.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { MOVE_PROTOCOL } from "@skerry/contract/host-moves";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Departure, type DepartureOptions } from "../src/move/departure.ts";
import { Peers } from "../src/move/peers.ts";
import { Qmp, runState } from "../src/vm/qmp.ts";
import type { VmRecord } from "../src/vm/record.ts";
import { Rest } from "../src/vm/rest.ts";
import { FakeGuest } from "./support/fake-guest.ts";

const log = pino({ level: "silent" });
/** What an NBD server says first. */
const NBD_GREETING = Buffer.from("NBDMAGICIHAVEOPT\x00\x03", "latin1");

let folder: string;
let guest: FakeGuest;
let qemu: ChildProcess;
let qmp: Qmp;
let target: Server;
let streams: Duplex[];
let steps: string[];

beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-departure-");
  await mkdir(join(folder, "vm"));
  qemu = spawn(
    "qemu-system-x86_64",
    [
      ...["-M", "none", "-nodefaults", "-display", "none", "-qmp", "unix:qmp.sock,server=on,wait=off"],
      ...["-blockdev", "driver=null-co,node-name=root,size=1048576,read-zeroes=on"],
    ],
    { cwd: join(folder, "vm"), stdio: "ignore" },
  );
  qmp = await Qmp.connect(join(folder, "vm", "qmp.sock"), AbortSignal.timeout(20_000));
  guest = await FakeGuest.start();
  streams = [];
  steps = [];
});

afterEach(async () => {
  qmp.close();
  const ended = once(qemu, "exit");
  qemu.kill("SIGKILL");
  await ended;
  for (const stream of streams) stream.destroy();
  await new Promise((resolve) => target.close(resolve));
  await guest[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** A host that does this with whoever wants to speak to its QEMU. */
async function listen(meet: (stream: Duplex) => void): Promise<void> {
  target = createServer();
  target.on("upgrade", (_request, stream: Duplex) => {
    streams.push(stream.on("error", () => undefined));
    meet(stream);
  });
  target.listen(join(folder, "target.sock"));
  await once(target, "listening");
}

function admit(stream: Duplex): void {
  const head = `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${MOVE_PROTOCOL}`;
  stream.write(`${head}\r\n\r\n`);
}

async function depart(changes: Partial<DepartureOptions> = {}): Promise<Departure> {
  const { channel } = await guest.greeted();
  const live = { qmp, channel };
  return new Departure({
    live,
    rest: new Rest(live, log),
    record: { id: "sbx_a", folder: join(folder, "vm") } as VmRecord,
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
    peers: new Peers(() => undefined, { connectMs: 5_000, admitMs: 300, silentMs: 300 }),
    log,
    ...changes,
  });
}

test.each([
  ["never answers", () => undefined],
  ["lets it in and falls silent", admit],
  ["greets and then falls silent", (stream: Duplex) => (admit(stream), void stream.write(NBD_GREETING))],
])("a VM goes on at home when a target %s", { timeout: 60_000 }, async (_what, meet) => {
  await listen(meet);
  const departure = await depart();
  await expect(departure.done).rejects.toMatchObject({ code: "move_failed" });
  expect(await runState(qmp)).toBe("running");
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
  expect(await runState(qmp)).toBe("running");
});

test("a move that is canceled while its target is silent leaves the VM at home", async () => {
  await listen(admit);
  const departure = await depart();
  await expect.poll(() => streams.length).toBe(1);
  await departure.stay();
  await expect(departure.done).rejects.toMatchObject({ code: "canceled" });
  expect([await runState(qmp), steps]).toEqual(["running", ["begins", "goes on"]]);
});
