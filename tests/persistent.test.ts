// Persistent sandboxes with real microVMs: what a guest, its memory and its disk are after pauses, and what
// is left on the machine meanwhile. Most of the tests wait for a time to come, so they wait together.
// Processes that are killed meanwhile are the matrix of `kill.test.ts`.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, inject, test } from "vitest";
import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { qemuProcesses } from "./support/leftovers.ts";
import { eagerServices, inventory, nothingWaits, startPlatform, until } from "./support/platform.ts";
import { isFullRun, noteSampled } from "./support/sampling.ts";

const platform = await startPlatform({
  assets: inject("assets"),
  env: { ...eagerServices, ...nothingWaits },
});
afterAll(() => platform.stop());

/** Processes that run it. No clones wait here, so each is named after its sandbox. */
async function processesOf({ id }: Sandbox): Promise<number> {
  return (await qemuProcesses(platform.instance)).filter(({ vm }) => vm === id).length;
}

function create(fields: object = {}): Promise<Sandbox> {
  return platform.client.sandboxes.create({
    template: "base",
    mode: "persistent",
    timeout: "30m",
    ...fields,
  });
}

async function said(sandbox: Sandbox, command: string): Promise<string> {
  const { exit_code, stdout, stderr } = await sandbox.execute(command);
  if (exit_code !== 0) throw new Error(`${command}: ${stderr}`);
  return stdout.trim();
}

/** A program whose memory changes all the time, and tells of it. */
const COUNTER = `python3 -c '
import hashlib, os, time
block = bytearray(os.urandom(4 << 20))
print(hashlib.sha256(block).hexdigest(), flush=True)
n = 0
while True:
    n += 1
    open("/tmp/count.new", "w").write("%d %s" % (n, hashlib.sha256(block).hexdigest()))
    os.rename("/tmp/count.new", "/tmp/count")
    time.sleep(0.05)
'`;

async function counted(sandbox: Sandbox): Promise<{ n: number; hash: string }> {
  const [n = "", hash = ""] = (await said(sandbox, "cat /tmp/count")).split(" ");
  return { n: Number(n), hash };
}

const PAUSES = isFullRun ? 10 : 4;
noteSampled({ title: "pauses of one sandbox", taken: PAUSES, all: 10 });

test.concurrent("through many pauses a program goes on counting, and memory and disk stay as they were", async () => {
  await using sandbox = await create({ env: { KEPT: "yes" } });
  await said(
    sandbox,
    `(${COUNTER}) > /tmp/first 2>&1 < /dev/null & sleep 1; head -c 3000000 /dev/urandom > /root/file; sync`,
  );
  await until("it counts", async () => (await sandbox.execute("test -s /tmp/count")).exit_code === 0);
  const hash = await said(sandbox, "cat /tmp/first");
  const file = await said(sandbox, "sha256sum < /root/file");
  let before = 0;
  for (let cycle = 0; cycle < PAUSES; cycle += 1) {
    expect((await sandbox.pause()).info).toMatchObject({ status: "paused", reason: null });
    expect(await processesOf(sandbox)).toBe(0);
    let now = await counted(sandbox);
    expect(now.hash).toBe(hash);
    // On a busy machine one count takes longer than what is done between two pauses.
    await until("it counts on", async () => (now = await counted(sandbox)).n > before);
    expect(now.hash).toBe(hash);
    before = now.n;
    expect(await said(sandbox, "sha256sum < /root/file")).toBe(file);
    expect(await said(sandbox, "echo $KEPT; echo more >> /root/log; wc -l < /root/log")).toBe(
      `yes\n${cycle + 1}`,
    );
  }
  expect(Date.parse((await sandbox.refresh()).info.expires_at)).toBeGreaterThan(Date.now() + 60_000);
});

test.concurrent("at the end of its time it is paused, and what it wrote into its memory is there when a call resumes it", async () => {
  await using sandbox = await create({ timeout: "15s" });
  await said(sandbox, "mount -t tmpfs none /mnt && echo in memory > /mnt/kept");
  await until("it is paused", async () => (await sandbox.refresh()).info.status === "paused");
  expect(await processesOf(sandbox)).toBe(0);
  expect(await said(sandbox, "cat /mnt/kept")).toBe("in memory");
  const { info } = await sandbox.refresh();
  expect(Date.parse(info.expires_at)).toBeGreaterThan(Date.parse(info.started_at ?? "") + 15_000);
});

const LOOP = `mkdir -p /mnt/image && truncate -s 8M /root/image && mkfs.ext4 -q /root/image && mount -o loop /root/image /mnt/image
echo kept >/mnt/image/file && findmnt -no FSTYPE /mnt/image`;

test.concurrent("its kernel has what VPNs, sshfs and container engines need, also after a pause", async () => {
  await using sandbox = await create();
  expect(await said(sandbox, "cut -d' ' -f1 /proc/modules")).not.toMatch(
    /^(tun|fuse|loop|bridge|nf_tables)$/m,
  );
  await sandbox.upload("/root/try.py", await readFile(join(import.meta.dirname, "support/guest-kernel.py")));
  const tried = await said(sandbox, "python3 /root/try.py");
  expect(tried.split("\n")).toEqual(["tun True", "fuse True", "nft [0, 0, 0]", "iptables 0"]);
  expect(await said(sandbox, LOOP)).toBe("ext4");
  const links = [
    "bridge",
    "veth peer name try1",
    "wireguard",
    "macvlan link eth0",
    "vxlan id 1 dstport 4789",
  ];
  for (const kind of links) {
    const [name = "", ...options] = kind.split(" ");
    const [before, after] = name === "macvlan" ? [options.join(" "), ""] : ["", options.join(" ")];
    // oxlint-disable-next-line no-await-in-loop -- each is gone before the next
    await said(sandbox, `ip link add ${before} try0 type ${name} ${after} && ip link del try0`);
  }
  await sandbox.pause();
  // Grace periods of RCU end, for which an unmount waits.
  const after =
    "cat /mnt/image/file && umount /mnt/image && ip link add try0 type bridge && ip link del try0";
  expect(await said(sandbox, after)).toBe("kept");
});

test.concurrent("its clock is right after a pause, and twenty calls at once resume it once", async () => {
  await using sandbox = await create();
  await sandbox.pause();
  await sleep(2_000);
  const askedMs = Date.now();
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => said(sandbox, "date +%s%3N; cat /proc/sys/kernel/random/boot_id")),
  );
  const boots = new Set(answers.map((answer) => answer.split("\n")[1]));
  expect(boots.size).toBe(1);
  const answeredMs = Date.now();
  for (const answer of answers) {
    const clockMs = Number(answer.split("\n")[0]);
    expect(clockMs).toBeGreaterThan(askedMs - 1_000);
    expect(clockMs).toBeLessThan(answeredMs + 1_000);
  }
  expect(await processesOf(sandbox)).toBe(1);
});

test.concurrent("it is paused when nothing uses it, where an execution is a use and a process in the background is none", async () => {
  await using sandbox = await create({ pause_after_idle: "10s" });
  await said(sandbox, "nohup sleep 9999 > /dev/null 2>&1 &");
  await sandbox.startExecution("sleep 15; date +%s%3N > /root/ended");
  await until("it is paused", async () => (await sandbox.refresh()).info.status === "paused", 90_000);
  const pausedMs = Date.parse(sandbox.info.paused_at ?? "");
  expect(pausedMs - Number(await said(sandbox, "cat /root/ended"))).toBeGreaterThanOrEqual(10_000);
  expect(await said(sandbox, "pgrep -c sleep")).toBe("1");
});

test.concurrent("calls at the moment at which it is paused are carried out", async () => {
  await using sandbox = await create({ pause_after_idle: "10s" });
  for (const afterMs of [9_500, 10_500, 11_000]) {
    await sleep(afterMs);
    const calls = Array.from({ length: 4 }, async (_, index) => {
      await sleep(index * 250);
      return said(sandbox, "echo there");
    });
    expect(await Promise.all(calls)).toEqual(Array.from({ length: 4 }, () => "there"));
  }
});

/** A packet that its rules decide about. */
const TRY =
  "python3 -c 'import socket; socket.create_connection((\"203.0.113.10\", 80), 0.3)' 2> /dev/null; true";

async function wasDenied(sandbox: Sandbox): Promise<boolean> {
  const { denied } = await sandbox.egress();
  return denied.some(({ rule, address }) => rule === "deny_all" && address === "203.0.113.10");
}

async function isDenied(sandbox: Sandbox): Promise<boolean> {
  await said(sandbox, TRY);
  return wasDenied(sandbox);
}

test.concurrent("rules that were set while it ran are in force after a pause, a snapshot and a rollback, and in a fork", async () => {
  await using sandbox = await create();
  expect(await isDenied(sandbox)).toBe(false);
  await sandbox.setEgress({ mode: "deny_all" });
  expect(await isDenied(sandbox)).toBe(true);
  await sandbox.pause();
  expect(await sandbox.egress()).toMatchObject({ mode: "deny_all" });
  // Its slot is another one, which has counted nothing yet.
  await sandbox.resume();
  expect(await wasDenied(sandbox)).toBe(false);
  expect(await isDenied(sandbox)).toBe(true);
  const [fork] = await sandbox.fork();
  if (fork === undefined) throw new Error("there is no fork");
  await using _fork = fork;
  expect(await isDenied(fork)).toBe(true);
  const snapshot = await sandbox.snapshot();
  expect(await isDenied(sandbox)).toBe(true);
  await sandbox.rollback(snapshot.id);
  expect(await wasDenied(sandbox)).toBe(false);
  expect(await isDenied(sandbox)).toBe(true);
  expect((await sandbox.events()).items.some(({ kind }) => kind === "denied")).toBe(true);
});

test.concurrent("its log tells all that became of it, and its host has measured it", async () => {
  await using sandbox = await create();
  await said(sandbox, "head -c 20000000 /dev/urandom > /root/file; sync");
  await sandbox.pause();
  await said(sandbox, "true");
  const { items } = await sandbox.events();
  expect(items.map(({ kind, reason }) => [kind, reason]).toReversed()).toEqual([
    ["created", "from template base"],
    ["started", null],
    ["paused", "by request"],
    ["resumed", "a call into it"],
  ]);
  let measured = await sandbox.metrics({ step: "24h" });
  // It may have been measured before it wrote, too.
  await until("it is measured with its file", async () => {
    measured = await sandbox.metrics({ step: "24h" });
    return (measured.items[0]?.disk_bytes ?? 0) > 10_000_000;
  });
  expect(measured.damaged).toBe(0);
  const [point] = measured.items;
  expect(point?.cpu_seconds).toBeGreaterThan(0);
  expect(point?.memory_bytes).toBeGreaterThan(1024 * 1024);
});

test("a paused one is destroyed with its files", async () => {
  const sandbox = await create();
  await sandbox.pause();
  await sandbox.destroy();
  await until("nothing is left", async () => {
    const { processes, overlays, namespaces } = await inventory(platform);
    return processes + overlays + namespaces === 0;
  });
});
