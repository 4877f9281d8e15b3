// Commands that do their worst. The sandbox may lose what they did; it must go on answering, and its neighbours and the host
// must not notice. All of them run in one sandbox, one after the other, so each shows that the last left it whole.

import { readFile, writeFile } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { ExecuteRequest } from "@skerry/contract/vms/execute";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { OUTPUT_MAX_BYTES } from "@skerry/contract/bounds";
import {
  createSandbox,
  destroySandbox,
  execute,
  fileUrl,
  getSandbox,
  outputOf,
  refusal,
} from "./support/api.ts";
import { call, serverPid, until } from "./support/platform.ts";
import { isFullRun, noteSampled } from "./support/sampling.ts";
import { sharedPlatform } from "./support/shared.ts";

const MIB = 1024 * 1024;

const platform = await sharedPlatform();
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await createSandbox(platform, { template: "base", timeout: "30m" });
});

afterEach(async () => {
  expect(await outputOf(platform, sandbox.id, "echo alive")).toBe("alive");
  expect(await getSandbox(platform, sandbox.id)).toMatchObject({ status: "running", reason: null });
});

afterAll(() => destroySandbox(platform, sandbox.id));

function run(command: string, more: Omit<ExecuteRequest, "command"> = {}) {
  return execute(platform, sandbox.id, { command, ...more });
}

/** A gigabyte in a full run. */
const OUTPUT_BYTES = isFullRun ? 1_000_000_000 : 300_000_000;
noteSampled({ title: "MB of one command's output", taken: OUTPUT_BYTES / 1_000_000, all: 1_000 });

test("an output of hundreds of megabytes comes back cut at 10 MiB, and the servers' memory stays bounded", async () => {
  const pids = await serverPids();
  const growthOf = async (): Promise<number[]> => {
    const before = await Promise.all(pids.map((pid) => restartPeak(pid)));
    // NUL is the worst case: each takes six characters of JSON.
    const answer = await execute(platform, sandbox.id, {
      command: `head -c ${OUTPUT_BYTES} /dev/zero`,
      timeout: "5m",
    });
    expect(answer).toMatchObject({ exit_code: 0, truncated: true, timed_out: false });
    expect(Buffer.from(answer.stdout).equals(Buffer.alloc(OUTPUT_MAX_BYTES))).toBe(true);
    const after = await Promise.all(pids.map((pid) => memoryOf(pid, "VmHWM")));
    return after.map((peak, index) => peak - (before[index] ?? 0));
  };
  // Other files use the same servers meanwhile, and may send their largest files: what one output takes, it
  // takes each time.
  let least = await growthOf();
  for (let again = 0; again < 4 && Math.max(...least) >= 64 * MIB; again += 1) {
    const growth = await growthOf();
    least = least.map((bytes, index) => Math.min(bytes, growth[index] ?? bytes));
  }
  for (const growth of least) expect(growth).toBeLessThan(64 * MIB);
});

test("a fork bomb ends with its timeout", async () => {
  const command = "bomb() { bomb | bomb & bomb | bomb & }; bomb; sleep 60";
  const answer = await execute(platform, sandbox.id, { command, timeout: "5s" });
  expect(answer).toMatchObject({ timed_out: true, exit_code: 137 });
  // The kernel takes a moment to carry away a thousand dead processes; kernel threads are children of 2.
  await until("nothing is left of it", async () => {
    const { exit_code, stdout } = await run("ps -e -o ppid= | grep -vcE '^ *[02]$'");
    // Until then there may be no room for another process.
    return exit_code === 0 && Number(stdout) < 10;
  });
});

test.each(["kill -9 $PPID", "kill -9 1", "kill -9 -1", "kill -9 0"])(
  "a command that runs `%s` does not reach the agent",
  async (command) => {
    const answer = await run(`${command}; echo survived`, { timeout: "20s" });
    expect(answer.timed_out).toBe(false);
  },
);

test("a command that fills the disk leaves commands running, uploads refused whole, and space after rm", async () => {
  const fill = await run(
    "mkdir -p /fill; i=0; while fallocate -l 64M /fill/$i; do i=$((i+1)); done; cat /dev/zero >/fill/rest",
    {
      timeout: "2m",
    },
  );
  expect(fill.stderr).toMatch(/No space left on device/);
  expect(fill.exit_code).not.toBe(0);
  expect(await outputOf(platform, sandbox.id, "df --output=avail / | tail -1 | tr -d ' '")).toBe("0");
  for (const bytes of [200_000, 3_000_000, 20_000_000]) {
    const raw = Buffer.alloc(bytes, 7);
    await refusal(call(platform, "PUT", fileUrl(sandbox.id, "/fill/upload.bin"), { raw }), 422, "disk_full");
    // The connection of a refused upload is used again by what comes next.
    for (let count = 0; count < 5; count += 1)
      expect(await outputOf(platform, sandbox.id, "echo on")).toBe("on");
  }
  expect(await outputOf(platform, sandbox.id, "ls -A /fill | grep -v '^[0-9]*$'")).toBe("rest");
  expect(await outputOf(platform, sandbox.id, "rm -r /fill; echo fine >/root/after; cat /root/after")).toBe(
    "fine",
  );
});

test("a command that uses up the memory is killed for it, and nothing else is", async () => {
  await outputOf(platform, sandbox.id, "setsid sleep 7300 >/dev/null 2>&1 &");
  const answer = await run("python3 -c 'x = []\nwhile True: x.append(bytearray(4 << 20))'; exit $?", {
    timeout: "2m",
  });
  expect(answer).toMatchObject({ exit_code: 137, oom_killed: true, timed_out: false });
  expect(await outputOf(platform, sandbox.id, "pkill -f 'sleep 730[0]'; echo $?")).toBe("0");
});

test("files in memory cannot use up what the agent needs", async () => {
  const answer = await run("mkdir -p /big; mount -t tmpfs -o size=4g tmpfs /big; cat /dev/zero >/big/file", {
    timeout: "1m",
  });
  expect(answer.exit_code).not.toBe(0);
  expect(await outputOf(platform, sandbox.id, "umount -l /big; echo done")).toBe("done");
});

/** Control and host: whatever a guest sends goes through both. */
function serverPids(): Promise<number[]> {
  return Promise.all([serverPid(platform, "control"), serverPid(platform, "host")]);
}

/** Forgets the highest memory so far, and answers the memory now, in bytes. */
async function restartPeak(pid: number): Promise<number> {
  await writeFile(`/proc/${pid}/clear_refs`, "5");
  return memoryOf(pid, "VmRSS");
}

async function memoryOf(pid: number, field: "VmRSS" | "VmHWM"): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
}
