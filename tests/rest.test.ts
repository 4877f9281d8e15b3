// A sandbox in which nothing runs stands still, and nobody can tell.

import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { qemuPidOf, serverPid, startPlatform, until, type Platform } from "./support/platform.ts";
import { usesNoCpu } from "./support/rest.ts";

let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform({ assets: inject("assets"), env: { SKERRY_WARM_MAX: "0" } });
});

afterAll(async () => {
  await platform.stop();
});

function create(): Promise<Sandbox> {
  return platform.client.sandboxes.create({ template: "base", timeout: "30m" });
}

async function standsStill({ id }: Sandbox): Promise<void> {
  await usesNoCpu(await qemuPidOf(platform, id));
}

async function clockErrorMs(sandbox: Sandbox): Promise<number> {
  const beforeMs = Date.now();
  const guestMs = Number((await sandbox.execute("date +%s%3N")).stdout);
  return guestMs < beforeMs ? beforeMs - guestMs : Math.max(0, guestMs - Date.now());
}

test.concurrent("a sandbox in which nothing runs takes no CPU, and afterwards its files, commands and clock are as ever", async () => {
  await using sandbox = await create();
  await sandbox.upload("/tmp/kept", "kept\n");
  await standsStill(sandbox);
  expect((await sandbox.execute("cat /tmp/kept")).stdout).toBe("kept\n");
  await standsStill(sandbox);
  expect(await clockErrorMs(sandbox)).toBeLessThan(2_000);
  await standsStill(sandbox);
  expect(Buffer.from(await sandbox.download("/tmp/kept")).toString()).toBe("kept\n");
  await standsStill(sandbox);
  expect((await sandbox.listDirectory("/tmp")).entries.map(({ name }) => name)).toContain("kept");
});

test.concurrent("memory that a command has used goes back to the machine, also where its sandbox stands still then", async () => {
  await using sandbox = await create();
  const residentMib = async (): Promise<number> => {
    const status = await readFile(`/proc/${await qemuPidOf(platform, sandbox.id)}/status`, "utf8");
    return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1]) / 1_024;
  };
  const hash = async () => (await sandbox.execute("sha256sum /root/kept")).stdout;
  await sandbox.execute("head -c 20000000 /dev/urandom > /root/kept");
  const before = await hash();
  const idle = await residentMib();
  const hold =
    'import os, time; held = os.urandom(120 << 20)\nwhile not os.path.exists("/tmp/free"): time.sleep(0.1)';
  const holding = sandbox.execute(`python3 -c '${hold}'`);
  await until("it holds much", async () => (await residentMib()) > idle + 100, 240_000);
  await sandbox.execute("touch /tmp/free");
  expect((await holding).exit_code).toBe(0);
  await until("most of it is the machine's again", async () => (await residentMib()) < idle + 50);
  await standsStill(sandbox);
  expect(await hash()).toBe(before);
});

test.concurrent("what was started in the background keeps its sandbox running", async () => {
  await using sandbox = await create();
  await sandbox.execute("(while true; do echo tick >> /tmp/ticks; sleep 0.5; done) >/dev/null 2>&1 &");
  const ticks = async () => Number((await sandbox.execute("wc -l < /tmp/ticks")).stdout);
  const before = await ticks();
  await sleep(20_000);
  // At the pace of a busy machine, but more than the six that it has time for before a rest.
  expect(await ticks()).toBeGreaterThan(before + 10);
});

test.concurrent.each([0, 1])(
  "requests that come while a sandbox goes to rest are all answered (%d)",
  async (odd) => {
    await using sandbox = await create();
    for (let round = odd; round < 12; round += 2) {
      await sleep(2_850 + round * 25);
      const answers = await Promise.all([sandbox.execute("echo one"), sandbox.execute("echo two")]);
      expect(answers.map(({ stdout }) => stdout)).toEqual(["one\n", "two\n"]);
    }
  },
);

// Last and alone: the others need their host.
test("a sandbox that stood still when its host was killed answers the next one", async () => {
  await using sandbox = await create();
  await sandbox.execute("echo kept > /tmp/kept");
  await standsStill(sandbox);
  process.kill(await serverPid(platform, "host"), "SIGKILL");
  await until("the sandbox answers", async () =>
    sandbox.execute("cat /tmp/kept").then(
      ({ stdout }) => stdout === "kept\n",
      () => false,
    ),
  );
  expect(await clockErrorMs(sandbox)).toBeLessThan(2_000);
});
