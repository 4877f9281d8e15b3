import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { type Build, buildSanitized, type RunningAgent, startAgent } from "./support/sanitized.ts";

const BUILD_MS = 120_000;
const SIGTERM = 15;
const SIGKILL = 9;
let build: Build;
let agent: RunningAgent;
let folder: string;

beforeAll(async () => void (build = await buildSanitized()), BUILD_MS);
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "skerry-main-"));
  agent = await startAgent(build);
});
afterEach(async () => {
  await agent.link.open({ op: "terminate", signal: SIGKILL }).ended;
  await agent.stop();
  await rm(folder, { recursive: true, force: true });
});

const main = (command: string, env: Record<string, string> = {}) =>
  agent.link.open({ op: "main", command, env });
const terminate = (signal: number) => agent.link.open({ op: "terminate", signal }).ended;
const file = (name: string): string => path.join(folder, name);

test("a main process runs with the machine's environment and its own, and its end is told", async () => {
  const env = { OURS: "1", BOTH: "machine" };
  const identity = { hostname: "one", machine_id: "0".repeat(32), clock_us: 1, entropy: "0".repeat(128) };
  await agent.link.open({ op: "configure", ...identity, env }).ended;
  const ended = await main(`echo $OURS $BOTH > ${file("env")}; read x; exit 7`, { BOTH: "main" }).ended;
  expect(ended).toMatchObject({ done: true, head: {} });
  expect(ended.result).toEqual({ exit_code: 7, signal: 0, oom_killed: false });
  expect(readFileSync(file("env"), "utf8")).toBe("1 main\n");
});

test("its output goes to the console and not to whoever asked for it", async () => {
  const ended = await main("echo out; echo err >&2").ended;
  expect([ended.stdout.length, ended.stderr.length]).toEqual([0, 0]);
  expect(await agent.stop()).toBe("out\nerr\n");
  agent = await startAgent(build);
});

test("it is started once: whoever asks again is told of the same end, also long after it", async () => {
  const first = main(
    `echo start >> ${file("starts")}; until [ -e ${file("go")} ]; do sleep 0.02; done; exit 3`,
  );
  const second = main("exit 99");
  await agent.link.execute(`touch ${file("go")}`);
  const results = [await first.ended, await second.ended, await main("exit 98").ended];
  expect(results.map(({ result }) => result["exit_code"])).toEqual([3, 3, 3]);
  expect(readFileSync(file("starts"), "utf8")).toBe("start\n");
});

test("neither a canceled stream nor a host that begins a new conversation ends it", async () => {
  const first = main(`sleep 300 & echo $! > ${file("pid")}; wait`);
  await until(() => existsSync(file("pid")) && readFileSync(file("pid"), "utf8") !== "");
  first.cancel();
  expect((await first.ended).done).toBe(false);
  await agent.link.hello();
  const pid = readFileSync(file("pid"), "utf8").trim();
  expect(existsSync(`/proc/${pid}`)).toBe(true);
  const second = main("exit 99");
  await terminate(SIGTERM);
  expect((await second.ended).result).toMatchObject({ exit_code: 143, signal: SIGTERM });
  await until(() => !existsSync(`/proc/${pid}`));
});

test("it may handle SIGTERM in its own way, and SIGKILL ends it all the same", async () => {
  const polite = main(
    `trap 'echo bye > ${file("bye")}' TERM; echo > ${file("up")}; while :; do sleep 0.05; done`,
  );
  await until(() => existsSync(file("up")));
  await terminate(SIGTERM);
  await until(() => existsSync(file("bye")));
  expect(agent.link.isOver(polite.stream)).toBe(false);
  await terminate(SIGKILL);
  expect((await polite.ended).result).toMatchObject({ exit_code: 137, signal: SIGKILL });
});

test("a signal to a main process that was never started, or has ended, changes nothing", async () => {
  expect((await terminate(SIGTERM)).done).toBe(true);
  await main("true").ended;
  expect((await terminate(SIGTERM)).done).toBe(true);
  expect((await agent.link.execute("echo here")).stdout.toString()).toBe("here\n");
});

test.each([0, 65, -1])("the number %i is no signal", async (signal) => {
  const ended = await terminate(signal);
  expect(ended).toMatchObject({ done: false, result: { code: "bad_request" } });
});

async function until(condition: () => boolean): Promise<void> {
  for (let attempt = 0; !condition(); attempt += 1) {
    if (attempt > 1_000) throw new Error("it never came true");
    // oxlint-disable-next-line no-await-in-loop
    await sleep(10);
  }
}
