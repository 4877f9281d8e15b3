// What is left of VMs whose host dies, or whose disk is full, in the middle of their end: no slot may belong to two of them.

import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { VmEngine, type EngineOptions } from "../src/vm/engine/engine.ts";
import type { VmRecord } from "../src/vm/record/record.ts";
import { leave, ownerOf, recordIn, recordsIn } from "./support/records.ts";
import { mountSmallDisk, type SmallDisk } from "./support/small-disk.ts";

let disk: SmallDisk;
let vmsFolder: string;
let engine: VmEngine;
/** What the VM's record says when its slot becomes free. */
let freed: (string | undefined)[];

beforeEach(async () => {
  disk = await mountSmallDisk("engine", 1);
  vmsFolder = join(disk.folder, "vms");
  await mkdir(vmsFolder);
  freed = [];
  const resources = {
    slots: {
      adopt: () => undefined,
      slot: (number: number) => ({ number }),
      close: async () => void freed.push((await onDisk())?.status),
      sweep: async () => 0,
    },
    cgroups: { remove: async () => undefined },
    denials: { last: async () => undefined },
    firstVmUid: 1_899_000_000,
  };
  const owner = ownerOf(vmsFolder);
  const options = { resources, vmsFolder, instance: owner.instance, owner, log: pino({ level: "silent" }) };
  // The rest is for VMs that begin.
  engine = new VmEngine(options as unknown as EngineOptions);
});

afterEach(() => disk[Symbol.asyncDispose]());

async function onDisk(): Promise<VmRecord | undefined> {
  return (await recordsIn(vmsFolder)).find(({ id }) => id === "mch_a")?.record;
}

const moves = { arrived: () => undefined, sent: () => undefined };

test.each<[string, Partial<VmRecord>]>([
  ["a machine", { machine: { command: null, keeps_disk: true, stopping: false } }],
  ["a sandbox", {}],
])("the record of %s says that it has ended before its slot is free", async (_what, changes) => {
  await leave(recordIn(vmsFolder, "mch_a", changes));
  await engine.adopt(moves);
  await expect.poll(() => freed).toEqual(["gone"]);
});

test("a machine whose end cannot be written down keeps its slot until it can", async () => {
  const { execution_id } = await leave(
    recordIn(vmsFolder, "mch_a", { machine: { command: null, keeps_disk: true, stopping: false } }),
  );
  const full = join(disk.folder, "full");
  await writeFile(full, Buffer.alloc(2 * 1024 ** 2)).catch(() => undefined);
  await engine.adopt(moves);
  await expect.poll(() => engine.get("mch_a").status).toBe("gone");
  expect([(await onDisk())?.status, freed]).toEqual(["running", []]);
  await expect(engine.stop("mch_a", { execution_id, grace_ms: 0 })).rejects.toThrow("ENOSPC");
  expect(freed).toEqual([]);
  await rm(full);
  await engine.stop("mch_a", { execution_id, grace_ms: 0 });
  expect(freed).toEqual(["gone"]);
});
