import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect as dialOnce, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { migrationCompleted, Qmp, QmpError } from "../src/vm/qemu/qmp.ts";

const GREETING = { QMP: { version: { qemu: { major: 7 } }, capabilities: [] } };
/** What the host waits for an answer. */
const ANSWER_DEADLINE_MS = 10_000;
/** What it takes for a dead one. */
const HUNG_AFTER_MS = 120_000;

type Answer = (command: string) => string | undefined;

let folder: string;
let path: string;
let server: Server;
let sockets: Socket[];

beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-qmp-");
  path = join(folder, "qmp.sock");
  sockets = [];
});
afterEach(async () => {
  vi.useRealTimers();
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

/** A QEMU that says this first, and this to each command. */
async function qemu(greeting: string, answer: Answer): Promise<void> {
  server = createServer((socket) => {
    sockets.push(socket);
    socket.setEncoding("utf8").on("error", () => undefined);
    socket.on("data", (text: string) => {
      for (const line of text.split("\n").filter(Boolean)) {
        const reply = answer((JSON.parse(line) as { execute: string }).execute);
        if (reply !== undefined) socket.write(reply);
      }
    });
    socket.write(greeting);
  });
  await new Promise<void>((ready) => server.listen(path, ready));
}

const said = (message: unknown): string => `${JSON.stringify(message)}\r\n`;
const connect = (): Promise<Qmp> => Qmp.connect(path, AbortSignal.timeout(5_000));
/** Answers the capabilities as QEMU does, and everything else as the test wants. */
const then =
  (answer: Answer): Answer =>
  (command) =>
    command === "qmp_capabilities" ? said({ return: {} }) : answer(command);

async function connected(answer: Answer): Promise<Qmp> {
  await qemu(said(GREETING), then(answer));
  return connect();
}

test("answers reach the questions in their order, with events in between", async () => {
  const event = said({ event: "RESUME", timestamp: { seconds: 1, microseconds: 2 } });
  const qmp = await connected((command) => `${event}${said({ return: command })}${event}`);
  const answers = await Promise.all(["stop", "cont", "query-status"].map((command) => qmp.execute(command)));
  expect(answers).toEqual(["stop", "cont", "query-status"]);
  qmp.close();
});

test("an answer that comes in pieces is put together", async () => {
  const qmp = await connected(() => undefined);
  const asked = qmp.execute("query-status");
  for (const char of said({ return: "€" })) {
    sockets[0]?.write(char);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await expect(asked).resolves.toBe("€");
  qmp.close();
});

test.each([
  [{ error: { class: "GenericError", desc: "no such device" } }, "eject: no such device"],
  [{ error: { desc: 7 } }, "eject: no reason given"],
  [{ error: { desc: { toString: 1 } } }, "eject: no reason given"],
  [{ error: null }, "eject: no reason given"],
])("QEMU's refusal %j is an error, and the connection lives", async (refusal, why) => {
  const qmp = await connected((command) => said(command === "eject" ? refusal : { return: "fine" }));
  await expect(qmp.execute("eject")).rejects.toThrow(new QmpError(why));
  await expect(qmp.execute("query-status")).resolves.toBe("fine");
  qmp.close();
});

test.each([
  ["no JSON", "hello\n"],
  ["null", "null\n"],
  ["a number", "7\n"],
  ["an endless line", "x".repeat(2 * 1024 * 1024)],
])("a QEMU that answers with %s loses its connection", async (_what, answer) => {
  const qmp = await connected(() => answer);
  await expect(qmp.execute("query-status")).rejects.toThrow("QEMU closed its control socket");
  await qmp.closed;
  await expect(qmp.execute("cont")).rejects.toThrow("cont: QEMU is gone");
});

test("a QEMU that is busy for long is not taken for dead: who asked is told, and later answers reach who asked for them", async () => {
  const qmp = await connected(() => undefined);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const stop = qmp.execute("stop").catch((error: Error) => error.message);
  vi.advanceTimersByTime(ANSWER_DEADLINE_MS);
  await expect(stop).resolves.toBe("stop: no answer from QEMU in 10000 ms");
  const cont = qmp.execute("cont");
  sockets[0]?.write(said({ return: "stopped at last" }) + said({ return: "goes on" }));
  await expect(cont).resolves.toBe("goes on");
  vi.advanceTimersByTime(10 * HUNG_AFTER_MS);
  sockets[0]?.write(said({ event: "SHUTDOWN", data: { reason: "guest-reset" } }));
  await expect.poll(() => qmp.shutdownReason).toBe("guest-reset");
  qmp.close();
});

test("a guest that was stopped is asked about once at a time, and only one that KVM has given up counts as that", async () => {
  const states = ["paused", "internal-error"];
  let asked = 0;
  const qmp = await connected((command) => {
    if (command !== "query-status") return undefined;
    asked += 1;
    return said({ return: { status: states.shift() } });
  });
  let isGivenUp = false;
  void qmp.givenUp.then(() => (isGivenUp = true));
  sockets[0]?.write(said({ event: "STOP" }).repeat(100));
  await expect.poll(() => states).toEqual(["internal-error"]);
  expect(await qmp.execute("query-status").then(() => isGivenUp)).toBe(false);
  states.push("internal-error");
  sockets[0]?.write(said({ event: "STOP" }));
  await qmp.givenUp;
  expect(asked).toBeLessThan(10);
  qmp.close();
});

test("a QEMU that never answers is given up in the end, with every question behind", async () => {
  const qmp = await connected(() => undefined);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const first = qmp.execute("stop").catch((error: Error) => error.message);
  vi.advanceTimersByTime(HUNG_AFTER_MS - 1);
  const second = qmp.execute("cont").catch((error: Error) => error.message);
  vi.advanceTimersByTime(1);
  await qmp.closed;
  await expect(first).resolves.toBe("stop: no answer from QEMU in 10000 ms");
  await expect(second).resolves.toBe("QEMU closed its control socket");
});

test.each([
  ["events", { event: "RTC_CHANGE", data: { offset: 1 } }],
  ["answers to nobody", { return: {} }],
])("a QEMU that sends %s without end is read slowly, and is heard all the same", async (_what, message) => {
  const qmp = await connected(() => undefined);
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  sockets[0]?.write(
    said(message).repeat(50_000) + said({ event: "SHUTDOWN", data: { reason: "guest-reset" } }),
  );
  while (qmp.shutdownReason === undefined && vi.getTimerCount() === 0) await turn();
  expect(qmp.shutdownReason).toBeUndefined();
  while (qmp.shutdownReason === undefined) {
    vi.advanceTimersByTime(100_000);
    await turn();
  }
  qmp.close();
});

test("closing the connection rejects the questions that wait", async () => {
  const qmp = await connected(() => undefined);
  const asked = qmp.execute("stop");
  qmp.close();
  await expect(asked).rejects.toThrow("QEMU closed its control socket");
});

test("a QEMU that refuses the capabilities leaves no connection behind", async () => {
  await qemu(said(GREETING), () => said({ error: { desc: "no" } }));
  await expect(connect()).rejects.toThrow("qmp_capabilities: no");
  await new Promise<void>((resolve) => sockets[0]?.once("close", () => resolve()));
});

test("a socket that never comes is given up when the signal says so", async () => {
  await qemu("", () => undefined);
  await expect(Qmp.connect(`${path}.not`, AbortSignal.timeout(50))).rejects.toThrow(/abort/);
});

/** Listens with a queue as long as QEMU's, and greets once it goes on. */
const QUEUE = String.raw`const { createServer } = require("node:net");
createServer((socket) => socket.on("error", () => undefined).on("data", () => socket.write('{"return":{}}\n')).write('{"QMP":{}}\n'))
  .listen({ path: process.argv[1], backlog: 1 }, () => process.stdout.write("listening"));`;

test("a QEMU that stands still is waited for, also where earlier host processes have filled its queue of connections", async () => {
  server = createServer();
  const child = spawn(process.execPath, ["-e", QUEUE, path], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    await once(child.stdout, "data");
    child.kill("SIGSTOP");
    for (let earlier = 0; earlier < 3; earlier += 1)
      sockets.push(dialOnce(path).on("error", () => undefined));
    await sleep(50);
    const connecting = connect();
    const early = await Promise.race([connecting.then(String, String), sleep(200, "waits")]);
    expect(early).toBe("waits");
    child.kill("SIGCONT");
    (await connecting).close();
  } finally {
    child.kill("SIGKILL");
  }
});

test.each([
  [{ guest: true, reason: "guest-reset" }, "guest-reset"],
  [{ reason: "<b>x</b>" }, "unknown"],
  [{ reason: "x".repeat(10_000) }, "unknown"],
  [{ reason: 7 }, "unknown"],
  [null, "unknown"],
  [undefined, "unknown"],
])("the reason of a shutdown %j is told as %s", async (data, reason) => {
  const qmp = await connected(() => said({ event: "SHUTDOWN", data }) + said({ return: {} }));
  expect(qmp.shutdownReason).toBeUndefined();
  await qmp.execute("query-status");
  expect(qmp.shutdownReason).toBe(reason);
  qmp.close();
});

test("a migration is waited for, and its failure told", async () => {
  const statuses = ["setup", "active", "completed", "failed"];
  const qmp = await connected(() =>
    said({ return: { status: statuses.shift(), "error-desc": "disk is full" } }),
  );
  await migrationCompleted(qmp, AbortSignal.timeout(5_000));
  await expect(migrationCompleted(qmp, AbortSignal.timeout(5_000))).rejects.toThrow(
    "migration failed: disk is full",
  );
  qmp.close();
});
