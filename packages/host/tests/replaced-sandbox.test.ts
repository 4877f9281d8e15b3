// A later incarnation that begins at a snapshot takes the place of a sandbox, and gives up nothing for what cannot begin.

import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { SkerryError } from "@skerry/contract/errors";
import type { VmSpec } from "@skerry/contract/host-api/vm";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { VmEngine, type EngineOptions } from "../src/vm/engine/engine.ts";
import { leave, ownerOf, recordIn, recordsIn } from "./support/records.ts";
import { noMoves } from "./support/stub-engine.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-replaced-");
});
afterEach(() => rm(folder, { recursive: true }));

/** What the host says of the snapshot. */
type Whole = () => Promise<unknown>;

/** An engine that has a paused sandbox. */
async function engineWith(whole: Whole): Promise<VmEngine> {
  await leave(recordIn(join(folder, "vms"), "sbx_1", { execution_id: "exe_2", status: "paused" }));
  const owner = ownerOf(join(folder, "vms"));
  const resources = {
    slots: {
      take: () => ({ number: 1 }),
      slot: () => ({}),
      close: async () => undefined,
      sweep: async () => 0,
    },
    cgroups: { remove: async () => undefined },
    denials: { last: async () => undefined },
    firstVmUid: 2_131_000_000,
  };
  const library = { envOf: () => ({}), forBoot: async () => ({ startedWith: here }) };
  const options = {
    ...{ resources, owner, library, vmsFolder: join(folder, "vms"), instance: owner.instance },
    ...{ snapshots: { whole }, log: pino({ level: "silent" }) },
  };
  const engine = new VmEngine(options as unknown as EngineOptions);
  await engine.adopt(noMoves);
  return engine;
}

const here = { emulator: "9.0", machine: "q35", accelerator: "tcg", cpu: "max", tsc_khz: null };
const saved = { template: "base", size: "shared-cpu-1x", runs_on: here };
const from = { kind: "snapshot", snapshot_id: "snp_1" } as const;
const spec = (execution_id: string, origin?: VmSpec["from"]): VmSpec =>
  ({
    ...{ execution_id, template: "base", size: "shared-cpu-1x", env: {}, egress: {}, egress_version: 1 },
    ...(origin === undefined ? {} : { from: origin }),
  }) as unknown as VmSpec;

const onDisk = async () => (await recordsIn(join(folder, "vms")))[0]?.record?.execution_id;

test.each(["snapshot_damaged", "snapshot_not_found", "snapshot_incompatible"] as const)(
  "where the snapshot is refused as %s, the sandbox is as it was",
  async (code) => {
    const engine = await engineWith(async () => {
      if (code !== "snapshot_incompatible") throw new SkerryError(code, "no");
      return { folder, saved: { ...saved, runs_on: { ...here, cpu: "other", accelerator: "kvm" } } };
    });
    await expect(engine.put("sbx_1", spec("exe_3", from))).rejects.toMatchObject({ code });
    expect([engine.get("sbx_1").status, await onDisk()]).toEqual(["paused", "exe_2"]);
  },
);

test.each([
  ["an earlier one", spec("exe_1", from)],
  ["one that begins at no snapshot", spec("exe_3")],
])("%s does not take the place of a sandbox", async (_what, asked) => {
  const engine = await engineWith(async () => ({ folder, saved }));
  const otherThanPaused = engine.put("sbx_1", asked);
  await expect(otherThanPaused).rejects.toMatchObject({ code: "stale_execution" });
  expect([engine.get("sbx_1").status, await onDisk()]).toEqual(["paused", "exe_2"]);
});

test("a later one takes its place: the one before is gone when it begins", async () => {
  let looks = 0;
  const engine = await engineWith(async () => {
    looks += 1;
    // The second look is that of the new one.
    if (looks === 1) return { folder, saved };
    expect(await onDisk()).toBeUndefined();
    throw new SkerryError("guest_failed", "the test is over");
  });
  await expect(engine.put("sbx_1", spec("exe_3", from))).rejects.toMatchObject({ code: "guest_failed" });
  expect([looks, engine.has("sbx_1")]).toEqual([2, false]);
});
