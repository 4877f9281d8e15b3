import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import type { StartOperation } from "@skerry/contract/guest-api/guest-operations";
import { expect, test } from "vitest";

import type { Ended } from "./support/agent-link.ts";
import { agentForEachTest } from "./support/agent-for-each-test.ts";
import { Executions, outputOf, readRecords } from "./support/executions.ts";
import type { RunningAgent } from "./support/sanitized.ts";

let agent: RunningAgent;
let run: Executions;
agentForEachTest((started) => {
  agent = started;
  run = new Executions(agent.link);
});

const RING_BYTES = 1024 * 1024;

/** So many bytes that say where in the output they are. */
const numbered = (lines: number): Buffer =>
  Buffer.from(Array.from({ length: lines }, (_, i) => `${i + 1}\n`.padStart(10, "0")).join(""));

test("an execution outlives the stream that started it, and any reader gets all of it", async () => {
  const started = await run.start("echo out; echo err >&2; read x < /dev/null; sleep 0.2; echo late; exit 3");
  expect(started.result).toMatchObject({ execution: "exe_one", ended: false, tty: false });
  for (const hold of [true, false]) {
    // oxlint-disable-next-line no-await-in-loop
    const ended = await run.follow(0, { hold }).ended;
    const { stdout, stderr, position } = outputOf(ended);
    expect(stdout.toString()).toBe("out\nlate\n");
    expect(stderr.toString()).toBe("err\n");
    expect(ended.result).toMatchObject({ ended: true, exit_code: 3, signal: 0, timed_out: false, position });
  }
});

test("the same id twice starts one command", async () => {
  await run.start("echo $$; sleep 0.2");
  await run.start("echo never");
  expect(outputOf(await run.follow().ended).stdout.toString()).toMatch(/^\d+\n$/u);
});

test("a reader goes on from any position, and from so many bytes before the end", async () => {
  await run.start("printf abc; printf def >&2; sleep 0.1; printf ghi");
  await run.until({ ended: true });
  const rest = outputOf(await run.follow(4).ended);
  expect([rest.stdout.toString(), rest.stderr.toString(), rest.position]).toEqual(["ghi", "ef", 9]);
  expect(outputOf(await run.follow(-2).ended).stdout.toString()).toBe("hi");
  expect(outputOf(await run.follow(-100).ended).position).toBe(9);
  expect((await run.follow(10).ended).result).toMatchObject({ code: "position_ahead" });
});

test("what a reader has not got is dropped where nobody holds the command, and it is told how much", async () => {
  const all = numbered(300_000);
  await run.start("seq -f '%09.0f' 300000");
  await run.until({ ended: true });
  const { dropped, stdout, position } = outputOf(await run.follow().ended);
  expect(position).toBe(all.length);
  expect(dropped).toEqual([{ kind: "dropped", from: 0, position: all.length - RING_BYTES }]);
  expect(stdout.equals(all.subarray(-RING_BYTES))).toBe(true);
});

test("a command waits for a reader that holds it, and each byte comes once", async () => {
  await run.start("seq -f '%09.0f' 500000");
  const reader = run.follow(0, { hold: true });
  const { stdout, dropped } = outputOf(await reader.ended);
  expect(dropped).toEqual([]);
  expect(stdout.equals(numbered(500_000))).toBe(true);
});

test("a reader that holds and grants nothing stops its own command only, and never the agent's memory", async () => {
  await run.start("cat /dev/zero", { reattach_ms: 0 });
  const stalled = agent.link.open(
    { op: "follow", execution: "exe_one", after: 0, hold: true },
    { grants: false },
  );
  // What was sent, and half of the ring beside it.
  let stoodAt: unknown = 0;
  for (let position: unknown = -1; position !== stoodAt || position === 0;) {
    position = stoodAt;
    // oxlint-disable-next-line no-await-in-loop -- until it stands still
    await sleep(200);
    // oxlint-disable-next-line no-await-in-loop
    stoodAt = (await run.get())["position"];
  }
  expect(stoodAt).toBeLessThanOrEqual(RING_BYTES + 256 * 1024);
  expect((await agent.link.execute("head -c 5000000 /dev/zero")).stdout).toHaveLength(5_000_000);
  stalled.cancel();
  await run.until({ ended: true, signal: 9 });
});

test("stdout and stderr that alternate byte by byte keep their order through the ring", async () => {
  await run.start("i=0; while [ $i -lt 3000 ]; do printf o; printf e >&2; i=$((i+1)); done", { stdin: true });
  const ended = await run.follow(0, { hold: true }).ended;
  const { stdout, stderr } = outputOf(ended);
  expect([stdout.toString(), stderr.toString()]).toEqual(["o".repeat(3000), "e".repeat(3000)]);
});

test("a new conversation ends no execution, and its reader goes on where it stood", async () => {
  await run.start("for i in $(seq 20); do echo $i; sleep 0.02; done", { reattach_ms: 0 });
  const before = run.follow(0, { hold: true });
  while (before.stdout.length === 0) await agent.link.ping(Buffer.from("x"));
  const got = readRecords(before.stdout, 0);
  before.ended.catch(() => undefined);
  await agent.link.hello();
  const after = outputOf(await run.follow(got.position, { hold: true }).ended);
  expect(Buffer.concat([got.stdout, after.stdout]).toString()).toBe(
    Array.from({ length: 20 }, (_, i) => `${i + 1}\n`).join(""),
  );
});

test("an attached execution ends when its reader has gone and does not come back in time", async () => {
  await run.start("sleep 300 & wait", { reattach_ms: 300 });
  const first = run.follow();
  first.cancel();
  await first.ended;
  const second = run.follow();
  await sleep(600);
  expect(agent.link.isOver(second.stream)).toBe(false);
  second.cancel();
  await run.until({ ended: true, exit_code: 137, timed_out: false });
});

test("a reader that leaves without giving up is waited for", async () => {
  await run.start("sleep 0.5; echo there", { reattach_ms: 0 });
  const first = run.follow();
  first.close();
  expect((await first.ended).result).toMatchObject({ ended: false });
  expect(outputOf(await run.follow().ended).stdout.toString()).toBe("there\n");
});

test("input goes to the execution from several streams, and ends when one says so", async () => {
  await run.start("cat", { stdin: true });
  const send = async (text: string, end: boolean): Promise<Ended> => {
    const input = run.input("exe_one", end);
    await input.write(Buffer.from(text));
    input.close();
    return await input.ended;
  };
  expect((await send("one ", false)).done).toBe(true);
  expect((await send("two", true)).done).toBe(true);
  expect(outputOf(await run.follow().ended).stdout.toString()).toBe("one two");
  expect((await send("three", false)).result).toMatchObject({ code: "input_closed" });
});

test("input that was all taken is taken, also when the command exits before it is told of the end", async () => {
  await run.start("read line; echo $line", { stdin: true });
  const early = run.input("exe_one", true);
  const late = run.input("exe_one");
  await early.write(Buffer.from("hello\n"));
  expect(outputOf(await run.follow().ended).stdout.toString()).toBe("hello\n");
  await late.write(Buffer.from("more\n"));
  expect((await late.ended).result).toMatchObject({ code: "input_closed" });
  early.close();
  expect((await early.ended).done).toBe(true);
});

test("ten megabytes of input go through an execution and back unchanged", async () => {
  const data = Buffer.alloc(10_000_000, "skerry ");
  await run.start("cat", { stdin: true });
  const reader = run.follow(0, { hold: true });
  const input = run.input("exe_one", true);
  await input.write(data);
  input.close();
  expect(outputOf(await reader.ended).stdout.equals(data)).toBe(true);
});

test("an execution that does not read its input, or closes it, blocks no other", async () => {
  await run.start("exec <&-; sleep 30", { stdin: true });
  await run.start("sleep 30", { stdin: true, execution: "exe_two" });
  const closed = run.input();
  await closed.write(Buffer.alloc(1_000_000));
  closed.close();
  expect((await closed.ended).result).toMatchObject({ code: "input_closed" });
  const deaf = run.input("exe_two");
  void deaf.write(Buffer.alloc(1_000_000));
  expect((await agent.link.execute("echo fine")).stdout.toString()).toBe("fine\n");
  await run.signal(9, "exe_two");
  expect((await deaf.ended).result).toMatchObject({ code: "input_closed" });
  await run.signal(9);
  await run.until({ ended: true });
});

test("a signal reaches the command and its children, and SIGKILL ends them", async () => {
  await run.start("trap 'echo caught; exit 5' TERM; echo ready; sleep 300 & wait");
  const reader = run.follow();
  while (reader.stdout.length === 0) await agent.link.ping(Buffer.from("x"));
  await run.signal(15);
  const ended = await reader.ended;
  expect(outputOf(ended).stdout.toString()).toBe("ready\ncaught\n");
  expect(ended.result).toMatchObject({ exit_code: 5 });
  expect((await run.signal(9)).done).toBe(true);
});

test("an execution that exceeds its timeout is killed with its children", async () => {
  await run.start("sleep 300 & wait", { timeout_ms: 200 });
  await run.until({ ended: true, timed_out: true, exit_code: 137, signal: 9 });
});

test("what cannot be started is refused with its reason, and leaves nothing", async () => {
  expect((await run.start("true", { workdir: "/no/such/folder" })).result).toMatchObject({
    code: "workdir_not_found",
  });
  expect((await run.follow().ended).result).toMatchObject({ code: "execution_not_found" });
  expect(await run.list()).toEqual([]);
  expect((await run.start("echo fine")).done).toBe(true);
});

test("requests that make no sense are refused", async () => {
  const bad: readonly Partial<StartOperation>[] = [
    { execution: "" },
    { execution: "../etc" },
    { execution: "x".repeat(64) },
    { cols: 0 },
    { rows: 65_536 },
    { timeout_ms: -1 },
    { reattach_ms: -2 },
    { workdir: "relative" },
  ];
  for (const options of bad) {
    // oxlint-disable-next-line no-await-in-loop
    expect((await run.start("true", options)).result).toMatchObject({ code: "bad_request" });
  }
  for (const op of ["execution", "signal"] as const)
    // oxlint-disable-next-line no-await-in-loop
    expect((await agent.link.open({ op, execution: "exe_none", signal: 1 }).ended).result).toMatchObject({
      code: "execution_not_found",
    });
  expect((await run.signal(65, "exe_none")).result).toMatchObject({
    code: "bad_request",
  });
});

test("the 65th execution that runs is refused, ended ones make room, and all are listed", async () => {
  const command = `sleep 300 # ${'"é'.repeat(600)}`;
  for (let i = 0; i < 64; i += 1) {
    // oxlint-disable-next-line no-await-in-loop
    expect((await run.start(command, { execution: `exe_${i}`, reattach_ms: -1 })).done).toBe(true);
  }
  expect((await run.start("true")).result).toMatchObject({ code: "too_many_executions" });
  const views = await run.list();
  expect(views.map(({ execution }) => execution)).toEqual(Array.from({ length: 64 }, (_, i) => `exe_${i}`));
  expect(Buffer.byteLength(views[0]?.command ?? "")).toBeLessThanOrEqual(1024 + 3);
  expect(views[0]?.command).toMatch(/é"?…$/u);
  await run.signal(9, "exe_0");
  await run.until({ ended: true }, "exe_0");
  expect((await run.start("true")).done).toBe(true);
  for (let i = 1; i < 64; i += 1)
    // oxlint-disable-next-line no-await-in-loop
    await run.signal(9, `exe_${i}`);
});

test("ended executions are forgotten, the oldest first, before their output takes too much memory", async () => {
  for (let i = 0; i < 20; i += 1) {
    // oxlint-disable-next-line no-await-in-loop
    await run.start("head -c 2000000 /dev/zero", { execution: `exe_${i}` });
    // oxlint-disable-next-line no-await-in-loop
    await run.until({ ended: true }, `exe_${i}`);
  }
  const ids = (await run.list()).map(({ execution }) => execution);
  expect(ids).toEqual(Array.from({ length: 14 }, (_, i) => `exe_${i + 6}`));
  const kept = outputOf(await run.follow(0, { execution: "exe_19" }).ended);
  expect(createHash("sha256").update(kept.stdout).digest("hex")).toBe(
    createHash("sha256").update(Buffer.alloc(RING_BYTES)).digest("hex"),
  );
});

test("what has ended can be forgotten, and what runs cannot", async () => {
  const forget = (execution: string) => agent.link.open({ op: "forget", execution }).ended;
  await run.start("cat", { stdin: true });
  expect((await forget("exe_one")).result).toMatchObject({ code: "busy" });
  const input = run.input("exe_one", true);
  input.close();
  await input.ended;
  await run.until({ ended: true });
  expect((await forget("exe_one")).done).toBe(true);
  expect(await run.list()).toEqual([]);
  expect((await forget("exe_one")).result).toMatchObject({ code: "execution_not_found" });
});
