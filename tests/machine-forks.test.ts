// Snapshots and forks of machines with real microVMs, through the API.

import { open } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, inject, test } from "vitest";
import {
  eagerServices,
  inventory,
  nothingWaits,
  qemuPidOf,
  startPlatform,
  until,
} from "./support/platform.ts";

const platform = await startPlatform({
  assets: inject("assets"),
  env: { ...eagerServices, ...nothingWaits },
});
afterAll(() => platform.stop());

const machines = () => platform.client.machines;

async function said(id: string, command: string): Promise<string> {
  const { exit_code, stdout, stderr } = await machines().execute(id, command);
  if (exit_code !== 0) throw new Error(`${command}: ${stderr}`);
  return stdout.trim();
}

const FIRST = 1_000;

/** Counts in its memory and says how far it is, and which boot it counts in; 1 MiB of chance is on the disk before it begins. */
const COUNTER = [
  "test -e /root/chance || { head -c 1048576 /dev/urandom > /root/chance; sync; }",
  "mount -t tmpfs none /mnt; n=1000",
  "while :; do n=$((n + 1)); echo $n $$ > /mnt/next; mv /mnt/next /mnt/count; sleep 0.05; done",
].join("; ");

interface Count {
  readonly count: number;
  readonly pid: string;
}

async function counted(id: string): Promise<Count> {
  const [count = "", pid = ""] = (await said(id, "cat /mnt/count")).split(" ");
  return { count: Number(count), pid };
}

async function goesOn(id: string): Promise<Count> {
  const { count } = await counted(id);
  await until("it goes on counting", async () => (await counted(id)).count > count);
  return counted(id);
}

const IDENTITY = "od -An -tx1 -N8 /dev/urandom; cat /etc/machine-id; hostname";
const DISK = "sha256sum < /root/chance";

test("forks and machines from a snapshot go on counting, on the same disk, each as itself", async () => {
  const source = await machines().create({
    template: "base",
    command: COUNTER,
    restart: { policy: "always" },
  });
  await until("it counts", () => said(source.id, "cat /mnt/count").then(Boolean, () => false));
  const disk = await said(source.id, DISK);
  const atSnapshot = await goesOn(source.id);
  const snapshot = await machines().snapshot(source.id, { name: "counting" });
  expect(snapshot).toMatchObject({ status: "ready", machine_id: source.id, command: COUNTER });

  const before = await goesOn(source.id);
  const forks = await machines().fork(source.id, 2);
  expect(forks).toHaveLength(2);
  const later = await machines().create({ snapshot: "counting" });
  const all = [source, ...forks, later].map(({ id }) => id);
  for (const [id, since] of [
    [source.id, before],
    ...forks.map((fork) => [fork.id, before] as const),
    [later.id, atSnapshot],
  ] as const) {
    const now = await goesOn(id);
    expect(now.count).toBeGreaterThan(since.count);
    expect(now.pid).toBe(since.pid);
    expect(await said(id, DISK)).toBe(disk);
  }
  const identities = await Promise.all(all.map((id) => said(id, IDENTITY)));
  for (const line of [0, 1, 2])
    expect(new Set(identities.map((identity) => identity.split("\n")[line])).size).toBe(all.length);

  const [first, second] = forks;
  if (first === undefined || second === undefined) throw new Error("there are two forks");
  await said(first.id, "echo its own > /root/note; sync");
  await machines().destroy(source.id);
  await platform.client.snapshots.delete(snapshot.id);
  process.kill(await qemuPidOf(platform, first.id), "SIGKILL");
  await until("it was started again", async () => (await machines().get(first.id)).restarts === 1);
  await until("it counts", () => said(first.id, "cat /mnt/count").then(Boolean, () => false));
  // Another boot: on its own disk, and from the beginning.
  expect(await said(first.id, `cat /root/note; ${DISK}`)).toBe(`its own\n${disk}`);
  expect((await counted(first.id)).count).toBeGreaterThan(FIRST);
  await goesOn(second.id);
  expect((await machines().execute(second.id, "cat /root/note")).exit_code).not.toBe(0);
  for (const id of all) await machines().destroy(id);
});

test("a machine goes back to a snapshot with its memory and its disk, and to none that is damaged", async () => {
  const { id } = await machines().create({
    template: "base",
    command: COUNTER,
    restart: { policy: "always" },
  });
  await until("it counts", () => said(id, "cat /mnt/count").then(Boolean, () => false));
  const disk = await said(id, DISK);
  const { count, pid } = await goesOn(id);
  const whole = await machines().snapshot(id);
  await said(id, "echo later > /root/note; sync");

  const damaged = await machines().snapshot(id);
  const file = await open(join(platform.state, "host/snapshots", damaged.id, "memory"), "r+");
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, 4_096);
  await file.write(Buffer.from([(buffer[0] ?? 0) ^ 1]), 0, 1, 4_096);
  await file.close();
  await expect(machines().rollback(id, damaged.id)).rejects.toMatchObject({ code: "snapshot_damaged" });
  await until("it was started again", async () => (await machines().get(id)).restarts === 1);
  await until("it counts", () => said(id, "cat /mnt/count").then(Boolean, () => false));
  expect(await said(id, `cat /root/note; ${DISK}`)).toBe(`later\n${disk}`);

  expect(await machines().rollback(id, whole.id)).toMatchObject({
    id,
    status: "running",
    snapshot_id: whole.id,
  });
  const now = await goesOn(id);
  expect(now.count).toBeGreaterThan(count);
  expect(now.pid).toBe(pid);
  expect(await said(id, DISK)).toBe(disk);
  expect((await machines().execute(id, "cat /root/note")).exit_code).not.toBe(0);
  await machines().destroy(id);
});

test("nothing is left when all are destroyed", async () => {
  await until("nothing is left", async () => {
    const { processes, overlays, namespaces } = await inventory(platform);
    return processes + overlays + namespaces === 0;
  });
});
