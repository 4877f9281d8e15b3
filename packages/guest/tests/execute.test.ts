import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { encodeFrame, frameTypes, REQUEST_MAX_BYTES, WINDOW_BYTES } from "@skerry/contract/frames";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { type Build, buildSanitized, type RunningAgent, startAgent } from "./support/sanitized.ts";

const BUILD_MS = 120_000;
let build: Build;
let agent: RunningAgent;
beforeAll(async () => void (build = await buildSanitized()), BUILD_MS);
beforeEach(async () => void (agent = await startAgent(build)));
afterEach(async () => expect(await agent.stop()).toBe(""));

const openFiles = (): number => readdirSync(`/proc/${agent.pid}/fd`).length;

/** Waits until this process is gone, at most five seconds. */
async function isGone(pid: number): Promise<boolean> {
  for (let waited = 0; waited < 500; waited += 1) {
    try {
      if (/^State:\s+Z/mu.test(readFileSync(`/proc/${pid}/status`, "utf8"))) return true;
    } catch {
      return true;
    }
    // oxlint-disable-next-line no-await-in-loop -- a wait
    await sleep(10);
  }
  return false;
}

test("a command's output, error output and exit code come back apart", async () => {
  const ended = await agent.link.execute("echo out; echo err >&2; exit 3");
  expect(ended.done).toBe(true);
  expect(ended.stdout.toString()).toBe("out\n");
  expect(ended.stderr.toString()).toBe("err\n");
  expect(ended.result).toMatchObject({ exit_code: 3, signal: 0, timed_out: false, truncated: false });
});

test("a command killed by a signal has 128 and its number as exit code", async () => {
  expect((await agent.link.execute("kill -15 $$")).result).toMatchObject({ exit_code: 143, signal: 15 });
});

test("a command that begins with a dash is a command, not an option of the shell", async () => {
  expect((await agent.link.execute("-v; exit 7")).result).toMatchObject({ exit_code: 7 });
});

test("a command gets its own variables over the sandbox's, and those over the defaults", async () => {
  const configured = await agent.link.open({
    op: "configure",
    hostname: "box",
    machine_id: "0".repeat(32),
    clock_us: 1,
    entropy: "0".repeat(128),
    env: { A: "sandbox", B: "sandbox", HOME: "/tmp" },
  }).ended;
  expect(configured.done).toBe(true);
  const { stdout } = await agent.link.execute("echo $A $B $HOME $USER", { env: { A: "mine" } });
  expect(stdout.toString()).toBe("mine sandbox /tmp root\n");
});

test("the agent says what time it is, also when it is told to move the clock of a machine that is not its own", async () => {
  for (const adjust_us of [0, 40_000, -3_600_000_000]) {
    const before = Date.now() * 1_000;
    // oxlint-disable-next-line no-await-in-loop
    const { done, result } = await agent.link.open({ op: "clock", adjust_us }).ended;
    expect(done).toBe(true);
    const { clock_us } = result as { clock_us: number };
    expect(clock_us).toBeGreaterThanOrEqual(before);
    expect(clock_us).toBeLessThanOrEqual((Date.now() + 1) * 1_000);
  }
});

test("a command runs as the user, and begins in the folder, that the template names, until it is told otherwise", async () => {
  const configure = async (more: object): Promise<void> => {
    const identity = { hostname: "box", machine_id: "0".repeat(32), clock_us: 1, entropy: "0".repeat(128) };
    const { done } = await agent.link.open({ op: "configure", ...identity, env: {}, ...more }).ended;
    expect(done).toBe(true);
  };
  const who = async (request: object = {}): Promise<string> =>
    (await agent.link.execute("id -u; id -g; id -G; pwd; echo $HOME $USER", request)).stdout.toString();
  await configure({ user: "nobody", workdir: "/usr" });
  expect(await who()).toBe("65534\n65534\n65534\n/usr\n/nonexistent nobody\n");
  expect(await who({ workdir: "/tmp" })).toContain("/tmp\n");
  // What a configure does not name stays: a clone has it from its template.
  await configure({});
  expect(await who()).toContain("/usr\n/nonexistent nobody\n");
  await configure({ user: "1234:daemon", workdir: "/" });
  expect(await who()).toBe("1234\n1\n1\n/\n/ 1234\n");
  await configure({ user: "1234" });
  expect((await who()).startsWith("1234\n0\n")).toBe(true);
  await configure({ user: "" });
  expect(await who()).toContain("/root root\n");
  for (const user of ["somebody-else", "nobody:no-such-group", "nobody:", "-1"]) {
    // oxlint-disable-next-line no-await-in-loop
    await configure({ user });
    // oxlint-disable-next-line no-await-in-loop
    expect((await agent.link.execute("true")).result).toMatchObject({ code: "user_not_found" });
  }
});

test("a command starts in its workdir, and is refused when there is none", async () => {
  expect((await agent.link.execute("pwd", { workdir: "/usr" })).stdout.toString()).toBe("/usr\n");
  for (const workdir of ["/no/such/folder", "/etc/passwd"]) {
    // oxlint-disable-next-line no-await-in-loop
    const refused = await agent.link.execute("pwd", { workdir });
    expect(refused.done).toBe(false);
    expect(refused.result).toMatchObject({ code: "workdir_not_found" });
  }
});

test("a command has no signal blocked or ignored, and no file open but its three", async () => {
  const { stdout } = await agent.link.execute(
    "grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd | wc -l",
  );
  expect(stdout.toString()).toMatch(/^SigBlk:\s+0+\nSigIgn:\s+0+\n4\n$/u);
});

test("input of ten megabytes goes through a command and back unchanged", async () => {
  const data = Buffer.alloc(10_000_000, "skerry ");
  const command = agent.link.open({
    op: "execute",
    command: "cat",
    env: {},
    timeout_ms: 20_000,
    stdin: true,
    output_limit: 0,
  });
  await command.write(data);
  command.close();
  const ended = await command.ended;
  expect(ended.stdout.equals(data)).toBe(true);
  expect(ended.result).toMatchObject({ exit_code: 0 });
});

test("a command that does not read its input blocks neither the host nor other commands", async () => {
  const deaf = agent.link.open({
    op: "execute",
    command: "exec <&-; sleep 30",
    env: {},
    timeout_ms: 20_000,
    stdin: true,
    output_limit: 0,
  });
  await deaf.write(Buffer.alloc(2_000_000));
  expect((await agent.link.execute("echo fine")).stdout.toString()).toBe("fine\n");
  deaf.cancel();
  expect((await deaf.ended).result).toMatchObject({ code: "canceled" });
});

test("a reader that grants nothing stops its own command only", async () => {
  const stalled = agent.link.open(
    { op: "execute", command: "cat /dev/zero", env: {}, timeout_ms: 20_000, stdin: false, output_limit: 0 },
    { grants: false },
  );
  expect((await agent.link.execute("head -c 5000000 /dev/zero")).stdout).toHaveLength(5_000_000);
  const stallsAt = async (bytes: number): Promise<void> => {
    while (stalled.stdout.length < bytes) await agent.link.ping(Buffer.from("x"));
    await agent.link.execute("true");
    expect(stalled.stdout).toHaveLength(bytes);
  };
  await stallsAt(256 * 1024);
  stalled.grant(1000);
  await stallsAt(256 * 1024 + 1000);
  stalled.cancel();
});

test("output beyond the limit is dropped, and the command is not held up by it", async () => {
  const ended = await agent.link.execute("head -c 3000000 /dev/zero; head -c 900 /dev/zero >&2", {
    output_limit: 1000,
  });
  expect(ended.stdout).toHaveLength(1000);
  expect(ended.stderr).toHaveLength(900);
  expect(ended.result).toMatchObject({ exit_code: 0, truncated: true });
  const exact = await agent.link.execute("head -c 1000 /dev/zero", { output_limit: 1000 });
  expect(exact.stdout).toHaveLength(1000);
  expect(exact.result).toMatchObject({ truncated: false });
});

test("a command that exceeds its timeout is killed with its children", async () => {
  const ended = await agent.link.execute("sleep 300 & echo $!; wait", { timeout_ms: 1_000 });
  expect(ended.result).toMatchObject({ exit_code: 137, signal: 9, timed_out: true });
  expect(await isGone(Number(ended.stdout.toString()))).toBe(true);
});

test("a command answers when it exits, though a background child holds its pipes, and the child lives on", async () => {
  const ended = await agent.link.execute(
    "sh -c 'echo started; while sleep 0.1; do echo noise; done' & echo $!",
  );
  expect(ended.result).toMatchObject({ exit_code: 0 });
  const pid = Number(/^\d+$/mu.exec(ended.stdout.toString())?.[0]);
  await sleep(300);
  expect(readFileSync(`/proc/${pid}/cmdline`, "utf8")).toContain("noise");
  process.kill(pid, "SIGKILL");
});

test("a canceled command is killed, and answers that it was canceled", async () => {
  const command = agent.link.open({
    op: "execute",
    command: "echo $$; sleep 300",
    env: {},
    timeout_ms: 20_000,
    stdin: false,
    output_limit: 0,
  });
  while (command.stdout.length === 0) await agent.link.ping(Buffer.from("x"));
  const pid = Number(command.stdout.toString());
  command.cancel();
  expect((await command.ended).result).toMatchObject({ code: "canceled" });
  expect(await isGone(pid)).toBe(true);
});

test("two hundred commands one after the other, and fifty at once, leave no file open", async () => {
  await agent.link.execute("true");
  const before = openFiles();
  for (let i = 0; i < 200; i += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other is the point
    expect((await agent.link.execute("exit 4")).result["exit_code"]).toBe(4);
  }
  const outputs = await Promise.all(
    Array.from(
      { length: 50 },
      async (_, i) => (await agent.link.execute(`head -c 70000 /dev/zero; echo ${i}`)).stdout,
    ),
  );
  expect(outputs.map((output) => output.subarray(70_000).toString())).toEqual(
    outputs.map((_, i) => `${i}\n`),
  );
  expect(openFiles()).toBe(before);
});

test("the 257th operation at once is refused, and the other 256 go on", async () => {
  const operations = Array.from({ length: 257 }, () =>
    agent.link.open({
      op: "execute",
      command: "cat",
      env: {},
      timeout_ms: 30_000,
      stdin: true,
      output_limit: 0,
    }),
  );
  const [last, ...rest] = operations.toReversed();
  expect((await last?.ended)?.result).toMatchObject({ code: "too_many_streams" });
  for (const operation of rest) operation.close();
  const ended = await Promise.all(rest.map(async (operation) => await operation.ended));
  expect(ended.every(({ result }) => result["exit_code"] === 0)).toBe(true);
});

test("a command has the longest argument and variable that Linux takes, and all its input", async () => {
  const longest = 131_071;
  const command = `cat; : ${"x".repeat(longest)}`.slice(0, longest);
  const run = agent.link.open({
    op: "execute",
    command,
    env: { A: "a".repeat(100_000) },
    timeout_ms: 30_000,
    stdin: true,
    output_limit: 0,
  });
  await run.write(Buffer.alloc(2 * WINDOW_BYTES, "i"));
  run.close();
  const { stdout, result } = await run.ended;
  expect(result).toMatchObject({ exit_code: 0 });
  expect(stdout.toString() === "i".repeat(2 * WINDOW_BYTES)).toBe(true);
  const env = { A: "a".repeat(longest - "A=".length) };
  expect((await agent.link.execute("echo ${#A}", { env })).stdout.toString()).toBe("131069\n");
  expect((await agent.link.execute(`${command}x`)).done).toBe(false);
});

test("a long request that is cut off, longer than announced or canceled leaves the others alone", async () => {
  const announce = (bytes: number) => agent.link.open({ op: "long", bytes });
  const part = (stream: number, bytes: number) =>
    agent.link.send(encodeFrame(frameTypes.data, stream, Buffer.alloc(bytes, " ")));
  for (const bytes of [0, REQUEST_MAX_BYTES + 1])
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    expect((await announce(bytes).ended).result).toMatchObject({ code: "bad_request" });
  const waiting = announce(REQUEST_MAX_BYTES);
  await part(waiting.stream, 10);
  const tooMuch = announce(10);
  await part(tooMuch.stream, 11);
  expect((await tooMuch.ended).result).toMatchObject({ code: "bad_request" });
  const nothing = announce(10);
  await part(nothing.stream, 10);
  expect((await nothing.ended).result).toMatchObject({ code: "bad_request" });
  waiting.cancel();
  expect((await waiting.ended).result).toMatchObject({ code: "canceled" });
  const forgotten = announce(REQUEST_MAX_BYTES);
  await part(forgotten.stream, 10);
  await agent.link.hello();
  expect((await agent.link.execute("exit 5")).result).toMatchObject({ exit_code: 5 });
});
