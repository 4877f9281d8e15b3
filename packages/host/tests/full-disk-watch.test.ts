import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { watchFullDisk, type FullDiskOptions } from "../src/vm/build/full-disk-watch.ts";
import { mountSmallDisk } from "./support/small-disk.ts";

/** Builds that have written so many KiB each, on a disk with so much room; which of them were ended, in that order, until no more are. */
async function ended(freeMib: number, builds: Readonly<Record<string, number>>): Promise<string[]> {
  await using disk = await mountSmallDisk("full-disk", freeMib);
  const left = Object.keys(builds).map((id) => ({ id, execution_id: "exe", folder: join(disk.folder, id) }));
  for (const { id, folder } of left) {
    await mkdir(folder);
    await writeFile(join(folder, "target.qcow2"), Buffer.alloc((builds[id] ?? 0) * 1024));
  }
  const gone: string[] = [];
  const looks = vi.fn(() => [...left]);
  const stop = new AbortController();
  const engine: FullDiskOptions["engine"] = {
    runningVms: { builds: looks },
    async giveUp({ id, folder }, { reason }) {
      expect(reason).toContain("disk was nearly full");
      left.splice(
        left.findIndex((vm) => vm.id === id),
        1,
      );
      gone.push(id);
      await rm(folder, { recursive: true });
    },
  };
  const watching = watchFullDisk({ engine, vmsFolder: disk.folder, log: {} as never }, stop.signal);
  const rounds = Object.keys(builds).length + 1;
  await vi.waitFor(() => expect(looks.mock.calls.length).toBeGreaterThan(rounds), { timeout: 30_000 });
  stop.abort();
  await watching;
  return gone;
}

test("on a disk that is too full, builds end, the one that has written the most first, and no more than it takes", async () => {
  const free = 3 * 1_024;
  expect(await ended(free + 64, { small: 16, large: 128 })).toEqual([]);
  expect(await ended(free, { small: 64, large: 128, middle: 96 })).toEqual(["large", "middle", "small"]);
  // What the largest gives back is enough.
  expect(await ended(free + 1, { small: 64, large: 2_048 })).toEqual(["large"]);
});

test("a disk that cannot be asked ends nothing", async () => {
  const giveUp = vi.fn<FullDiskOptions["engine"]["giveUp"]>();
  const warn = vi.fn();
  const stop = new AbortController();
  const builds = () => {
    stop.abort();
    return [{ id: "one", execution_id: "exe", folder: "/nowhere/one" }];
  };
  const options = {
    engine: { runningVms: { builds }, giveUp },
    vmsFolder: "/nowhere",
    log: { warn } as never,
  };
  await watchFullDisk(options, stop.signal);
  expect(giveUp).not.toHaveBeenCalled();
  expect(warn).toHaveBeenCalledOnce();
});
