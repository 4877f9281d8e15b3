// What a host does with guests on KVM beyond making them: they wait for a request, outlive their host's process, and boot from their own disks.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { qemuProcesses } from "../support/leftovers.ts";
import {
  qemuPidOf,
  serverPid,
  until,
  untilReplaced,
  waitingClones,
  type Platform,
} from "../support/platform.ts";
import { World } from "../support/world.ts";
import {
  clockErrorMs,
  count,
  countsOn,
  create,
  outputOf,
  PATIENCE_MS,
  rests,
  startCounting,
  startKvmPlatform,
} from "./kvm-platform.ts";

let platform: Platform;

beforeAll(async () => {
  platform = await startKvmPlatform({ SKERRY_WARM_MIN: "1", SKERRY_WARM_MAX: "1" });
}, 2 * PATIENCE_MS);

afterAll(async () => {
  await platform?.stop();
});

test("a sandbox is a clone that waited", async () => {
  const isStopped = async (): Promise<boolean> => {
    const [waiting] = await waitingClones(platform);
    if (waiting === undefined) return false;
    await rests(platform, waiting);
    return true;
  };
  await until("a clone waits", isStopped, PATIENCE_MS);
  const waiting = (await qemuProcesses(platform.instance)).map(({ pid }) => pid);
  await using sandbox = await create(platform);
  expect(waiting).toContain(await qemuPidOf(platform, sandbox.id));
  expect(await outputOf(sandbox, "hostname")).toBe(sandbox.id.replace("_", "-"));
});

test("what runs in a sandbox goes on when its host is killed, and under the next host, which finds it", async () => {
  await using sandbox = await create(platform);
  await startCounting(sandbox);
  const [qemu, before] = [await qemuPidOf(platform, sandbox.id), await count(sandbox)];
  const host = await serverPid(platform, "host");
  process.kill(host, "SIGKILL");
  await untilReplaced(platform, "host", host);
  const answers = (): Promise<boolean> =>
    sandbox.execute("true", { timeout: "4m" }).then(
      () => true,
      () => false,
    );
  await until("it answers again", answers, PATIENCE_MS);
  await countsOn(sandbox, before);
  expect(await qemuPidOf(platform, sandbox.id)).toBe(qemu);
});

test("clocks of a guest that stood still are right afterwards, none goes back, and its kernel does not complain", async () => {
  await using sandbox = await create(platform);
  const uptimeS = async () => Number((await outputOf(sandbox, "cat /proc/uptime")).split(" ")[0]);
  let last = await uptimeS();
  for (const restMs of [1_000, 20_000]) {
    await rests(platform, sandbox.id);
    await sleep(restMs);
    expect(await clockErrorMs(sandbox)).toBeLessThan(2_000);
    const now = await uptimeS();
    expect(now).toBeGreaterThan(last);
    last = now;
  }
  const complaints = await sandbox.execute("dmesg | grep -iE 'unstable|lockup|stall|backwards'", {
    timeout: "4m",
  });
  expect(complaints.stdout).toBe("");
});

test("a sandbox reaches what its policy allows, by real packets, and nothing else", async () => {
  await using world = await World.open();
  await using sandbox = await create(platform);
  await sandbox.setEgress({ mode: "deny_all", allow_cidrs: ["203.0.113.0/24"] });
  const greeting = (address: string) =>
    sandbox.execute(`bash -c 'exec 3<>/dev/tcp/${address}/80 && read -r line <&3 && echo $line'`, {
      timeout: "4m",
    });
  expect((await greeting("203.0.113.10")).stdout).toContain("203.0.113.10");
  expect((await greeting("198.51.100.7")).exit_code).not.toBe(0);
  expect(world.at("198.51.100.7")).toEqual([]);
});

test("a machine stops, boots from its own disk, and has what it had written", async () => {
  const { machines } = platform.client;
  const { id } = await machines.create({ template: "base", command: "sleep infinity" });
  try {
    const run = (command: string) => machines.execute(id, command, { timeout: "4m" });
    expect((await run("echo precious > /root/data; sync")).exit_code).toBe(0);
    await machines.stop(id);
    await machines.start(id);
    await until("it runs", async () => (await machines.get(id)).status === "running", PATIENCE_MS);
    expect((await run("cat /root/data")).stdout).toBe("precious\n");
  } finally {
    await machines.destroy(id);
  }
});
