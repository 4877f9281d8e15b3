import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run } from "../src/local/system/run.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp("/tmp/skerry-run-");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("a program tells its code and both outputs, and one that was killed by what", async () => {
  const answer = await run("sh", ["-c", "echo out; echo err >&2; exit 3"]);
  expect(answer).toEqual({ code: 3, stdout: "out\n", stderr: "err\n" });
  await expect(run("sh", ["-c", "kill -9 $$"])).rejects.toThrow("sh was killed by SIGKILL");
});

test("a program that goes on beyond its deadline is killed and named", async () => {
  const late = run("sleep", ["600"], { deadlineMs: 50 });
  await expect(late).rejects.toThrow("sleep did not end and close its output within 0.05 s");
});

test("a command does not wait for a program that is not there", async () => {
  const module = JSON.stringify(join(import.meta.dirname, "../src/local/system/run.ts"));
  const script = `import { run } from ${module};
    await run("/nowhere/program", [], { deadlineMs: 600_000 }).catch((error) => console.log(error.message));
    console.log(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length);
    process.exit();`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
  expect(stdout).toBe("/nowhere/program cannot be started: spawn /nowhere/program ENOENT\n0\n");
});

test("what a program leaves running holds nothing up for ever by holding its output open", async () => {
  const pidFile = join(folder, "pid");
  const leaving = run("sh", ["-c", 'sleep 600 & echo $! >"$1"', "sh", pidFile], { deadlineMs: 3_000 });
  await expect(leaving).rejects.toThrow("sh did not end and close its output within 3 s");
  process.kill(Number(await readFile(pidFile, "utf8")), "SIGKILL");
});
