// What is measured of VMs: how it is read off the kernel, and how it is kept.

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { link, mkdtemp, readFile, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { uptime } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { SAMPLES_KEPT_MS, type VmSample } from "@skerry/contract/host-api/metrics";
import { linkTraffic, measureVm, processUse } from "../src/vm/metrics/measure-vm.ts";
import { readSamples, SAMPLES_FILE, writeSample } from "../src/vm/metrics/sample-file.ts";
import { sampleOnce } from "../src/vm/metrics/sampler.ts";

const MINUTE_MS = 60_000;
const NOW_MS = Date.UTC(2026, 10, 20, 16, 0, 30);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-metrics-");
});
afterEach(() => rm(folder, { recursive: true }));

const sample = (atMs: number, used = 1): VmSample => ({
  ...{ at_ms: atMs, life: 7, age_ms: 1_000, cpu_ms: used, memory_bytes: used, disk_bytes: used },
  ...{ disk_read_bytes: used, disk_written_bytes: used },
  ...{ network_received_bytes: used, network_sent_bytes: used },
});
const file = (): string => join(folder, SAMPLES_FILE);
const times = async (sinceMs = 0): Promise<number[]> =>
  (await readSamples(folder, sinceMs, NOW_MS)).items.map(({ at_ms }) => (at_ms - NOW_MS) / MINUTE_MS);
const write = (minute: number): Promise<void> => writeSample(folder, sample(NOW_MS + minute * MINUTE_MS));

test("samples come back in order, since a time with the one before it, and only those of the last day", async () => {
  for (const minute of [-1_440, 0, -3, -1_439, -2, 5]) await write(minute);
  expect(await times()).toEqual([-1_439, -3, -2, 0]);
  expect(await times(NOW_MS - 2 * MINUTE_MS)).toEqual([-3, -2, 0]);
  expect(await times(NOW_MS + MINUTE_MS)).toEqual([0]);
});

test("a day later the same place is used again, and the file stays as large as a day's samples", async () => {
  await write(-1_439);
  for (let minute = -1_438; minute <= 0; minute += 1) await write(minute);
  const { size } = await stat(file());
  expect(size).toBeLessThanOrEqual(128 * 1024);
  await writeSample(folder, sample(NOW_MS + SAMPLES_KEPT_MS));
  expect((await stat(file())).size).toBe(size);
  expect((await readSamples(folder, 0, NOW_MS + SAMPLES_KEPT_MS)).items.length).toBe(1);
});

test("a VM without samples has none, and one of an hour takes little of the disk", async () => {
  expect(await readSamples(folder, 0, NOW_MS)).toEqual({ items: [], damaged: 0 });
  for (let minute = -59; minute <= 0; minute += 1) await write(minute);
  expect((await stat(file())).blocks * 512).toBeLessThanOrEqual(16 * 1024);
});

test("a sample with a flipped bit or cut short is left out and counted, and the others are there", async () => {
  for (const minute of [-2, -1, 0]) await write(minute);
  const { size } = await stat(file());
  await truncate(file(), size - 1);
  expect(await readSamples(folder, 0, NOW_MS)).toMatchObject({ damaged: 1 });
  expect(await times()).toEqual([-2, -1]);
  await write(0);
  const bytes = await readFile(file());
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  await writeFile(file(), bytes);
  expect((await readSamples(folder, 0, NOW_MS)).damaged).toBe(1);
  await write(0);
  expect((await readSamples(folder, 0, NOW_MS)).damaged).toBe(0);
});

test.each([
  ["a link", () => symlink(join(folder, "other"), file())],
  ["a second name of another file", () => link(join(folder, "other"), file())],
  ["a named pipe", () => void execFileSync("mkfifo", [file()])],
  [
    "another user's file",
    async () => {
      await writeFile(file(), "");
      const uid = process.getuid?.() ?? 0;
      const getuid = vi.spyOn(process, "getuid").mockReturnValue(uid + 1);
      onTestFinished(() => getuid.mockRestore());
    },
  ],
])("nothing is written to, or read from, %s in the place of the samples", async (_what, put) => {
  await writeFile(join(folder, "other"), "secret");
  await put();
  await expect(write(0)).rejects.toThrow();
  await expect(readSamples(folder, 0, NOW_MS)).rejects.toThrow();
  expect(await readFile(join(folder, "other"), "utf8")).toBe("secret");
});

test("a file of rubbish is told, however long it is, and the next samples are kept in it", async () => {
  await writeFile(file(), Buffer.alloc(1024 * 1024, 0x5a));
  const { items, damaged } = await readSamples(folder, 0, NOW_MS);
  expect([items.length, damaged]).toEqual([0, 1_440]);
  await write(0);
  expect(await times()).toEqual([0]);
});

test("use of a process is read off its files, whatever its program is called", () => {
  const counters = Array.from({ length: 40 }, (_, index) => index + 1).join(" ");
  const use = processUse({
    stat: `77 (a) R 1 ) ${counters}`,
    statm: "1000 300 100 1 0 1 0\n",
    io: "rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 9\n",
  });
  expect(use).toEqual({
    ...{ startTicks: 20, cpuMs: 250, memoryBytes: 200 * 4_096 },
    ...{ readBytes: 4_096, writtenBytes: 8_192 },
  });
});

test("traffic is read off every link, also where its numbers touch its name", () => {
  const traffic = linkTraffic(
    "Inter-|   Receive\n face |bytes\n    lo: 1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n" +
      "skr1:5000000000 2 0 0 0 0 0 0 7 4 0 0 0 0 0 0\n",
  );
  expect(traffic.get("skr1")).toEqual({ receivedBytes: 5_000_000_000, sentBytes: 7 });
  expect(traffic.get("lo")).toEqual({ receivedBytes: 1, sentBytes: 3 });
});

/** Of a process that works until it is told to end. */
async function worker(): Promise<{ child: ChildProcess; pid: number; startTicks: number }> {
  const child = spawn(process.execPath, [
    "-e",
    "const kept = Buffer.alloc(32 << 20, 1); for (;;) kept[0] ^= 1;",
  ]);
  const pid = child.pid ?? 0;
  const text = await readFile(`/proc/${pid}/stat`, "latin1");
  return { child, pid, startTicks: Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[19]) };
}

test("a process that runs is measured, and one that took the number of another is not", async () => {
  const { child, pid, startTicks } = await worker();
  try {
    const measured = (ticks: number) => {
      const traffic = { receivedBytes: 3, sentBytes: 4 };
      const uptimeMs = uptime() * 1_000;
      return measureVm({ process: { pid, startTicks: ticks }, folder, traffic, uptimeMs }, NOW_MS);
    };
    await expect.poll(async () => (await measured(startTicks))?.cpu_ms ?? 0).toBeGreaterThan(0);
    await expect
      .poll(async () => (await measured(startTicks))?.memory_bytes ?? 0)
      .toBeGreaterThan(32 * 1024 * 1024);
    expect(await measured(startTicks)).toMatchObject({
      ...{ at_ms: NOW_MS, life: startTicks, network_received_bytes: 4, network_sent_bytes: 3 },
    });
    expect(await measured(startTicks + 1)).toBeUndefined();
  } finally {
    child.kill("SIGKILL");
  }
});

test("one VM that cannot be measured, or whose folder has gone, keeps no other one from it", async () => {
  const { child, pid, startTicks } = await worker();
  try {
    const process = { pid, startTicks };
    const vm = { id: "sbx_a", folder, process, link: "none" };
    const gone = { ...vm, folder: join(folder, "gone") };
    const ended = { ...vm, process: { pid: 2 ** 22 + 1, startTicks: 1 } };
    await sampleOnce([gone, ended, vm], pino({ level: "silent" }));
    const { items } = await readSamples(folder, 0, Date.now());
    expect(items.length).toBe(1);
  } finally {
    child.kill("SIGKILL");
  }
});
