// What is frozen of a template, as far as it needs no guest.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { findSize } from "@skerry/contract/sizes";
import { expect, test } from "vitest";
import { ensureFrozen, type FreezeOptions } from "../src/templates/frozen.ts";
import { mountSmallDisk } from "./support/small-disk.ts";

class Taken extends Error {}

/** Freezes for a guest of 2 GiB on a disk with so much more than what a host keeps back. The first thing that it takes is a network slot. */
async function freezeWith(spareMib: number): Promise<{ error: unknown; left: string[] }> {
  await using disk = await mountSmallDisk("frozen", 2 * 1_024 + spareMib);
  const folder = join(disk.folder, "frozen");
  const take = (): never => {
    throw new Taken();
  };
  const options = {
    folder,
    description: { name: "web", digest: "d", disk_gib: 1, warm_up: [] },
    rootImage: "/images/base",
    layers: [],
    boot: { digest: "b" },
    qemu: { version: "1", cpu: "c", accelerator: "tcg" },
    size: findSize("performance-1x"),
    machine: { memoryMib: 2_048 },
    // The rest is for the guest.
    resources: { slots: { take } },
  } as unknown as FreezeOptions;
  const error = await ensureFrozen(options, new AbortController().signal).catch((thrown: unknown) => thrown);
  return { error, left: await readdir(folder) };
}

test("nothing is frozen that would use up the reserve of the host's disk, and nothing of it is left", async () => {
  const { error, left } = await freezeWith(2_048);
  expect(error).toMatchObject({ code: "no_capacity", context: { needed_bytes: 2_304 * 1024 ** 2 } });
  expect(left).toEqual([]);
});

test("where there is room for the memory and the disk, the freeze begins", async () => {
  expect((await freezeWith(2_560)).error).toBeInstanceOf(Taken);
});
