import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Layout } from "../src/local/system/layout.ts";
import { commandAtWork } from "../src/local/system/lock.ts";

const TIMEOUT_MS = 20_000;

/** Pids of processes that wait for a lock on this file, or hold it open. */
async function having(file: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const info = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
      const env = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
      return info.startsWith("flock\0") && env.includes(`LOCK_TEST=${file}\0`) ? [pid] : [];
    }),
  );
  return found.flat();
}

test("a command that waits for another one and is killed leaves nothing that waits on", async () => {
  const run = await mkdtemp("/tmp/skerry-cli-lock-");
  const module = JSON.stringify(join(import.meta.dirname, "../src/local/system/lock.ts"));
  const script = `const { lockCommands } = await import(${module});
    await lockCommands({ run: ${JSON.stringify(run)} }, "skerry up");
    console.log("has it");
    setInterval(() => undefined, 1000);`;
  const start = () =>
    spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, LOCK_TEST: run },
    });
  const first = start();
  try {
    await once(first.stdout, "data");
    const second = start();
    const ended = once(second, "exit");
    const [waits] = (await once(second.stderr, "data")) as [Buffer];
    expect(waits.toString()).toBe("skerry up is at work here; waiting for it.\n");
    const layout = { run } as Layout;
    expect(await commandAtWork(layout)).toMatchObject({ command: "skerry up", process: { pid: first.pid } });
    await expect.poll(() => having(run), { timeout: TIMEOUT_MS }).toHaveLength(1);
    second.kill("SIGKILL");
    await ended;
    await expect.poll(() => having(run), { timeout: TIMEOUT_MS }).toEqual([]);
    const gone = once(first, "exit");
    first.kill("SIGKILL");
    await gone;
    expect(await commandAtWork(layout)).toBeUndefined();
  } finally {
    first.kill("SIGKILL");
    await rm(run, { recursive: true });
  }
});
