// A clone that waited is promised to a caller before it is awake. The caller must not notice.

import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { NO_EGRESS } from "../src/network/egress-loader.ts";
import type { LiveVm } from "../src/vm/start/clone.ts";
import { VmEngine, type EngineOptions } from "../src/vm/engine/engine.ts";
import type { Qmp } from "../src/vm/qemu/qmp.ts";
import { saveRecord } from "../src/vm/record/record.ts";
import { FakeGuest, type Peer } from "./support/fake-guest.ts";
import { recordIn, recordsIn } from "./support/records.ts";

const spec = {
  ...{
    execution_id: "exe_a",
    template: "base",
    size: "shared-cpu-1x",
    hostname: "a",
    env: { TOKEN: "secret", BOTH: "user's" },
  },
  ...{ egress: NO_EGRESS, egress_version: 1 },
};

/** A host that does not wait has gone on by then. */
const FAULT_SHOWS_MS = 50;

let vmsFolder: string;
let guest: FakeGuest;
let peer: Peer;
let engine: VmEngine;
let closedSlots: number[];
let live: LiveVm;
/** What QEMU was told. */
let told: string[];
/** When the policy is in force. */
let policy: PromiseWithResolvers<void>;
/** When QEMU lets the guest go on. */
let goesOn: PromiseWithResolvers<void>;

beforeEach(async () => {
  vmsFolder = await mkdtemp("/tmp/skerry-unit-waking-");
  guest = await FakeGuest.start();
  closedSlots = [];
  told = [];
  policy = Promise.withResolvers();
  goesOn = Promise.withResolvers();
  const greeted = await guest.greeted();
  peer = greeted.peer;
  const record = recordIn(vmsFolder, "warm_a", { status: "creating", slot: 7 });
  await mkdir(record.folder);
  await saveRecord(record);
  const qmp = {
    closed: Promise.withResolvers<void>().promise,
    givenUp: Promise.withResolvers<void>().promise,
    execute: (command: string) => {
      told.push(command);
      return goesOn.promise;
    },
    close: () => undefined,
  };
  live = { qmp: qmp as unknown as Qmp, channel: greeted.channel };
  const resources = {
    slots: {
      exhausted: false,
      take: () => ({ number: 8 }),
      slot: (number: number) => ({ number }),
      close: async ({ number }: { number: number }) => void closedSlots.push(number),
    },
    egress: { load: () => policy.promise },
    cgroups: { remove: async () => undefined },
    denials: { last: async () => undefined },
    firstVmUid: 1_899_000_000,
  };
  const options = {
    ...{ resources, vmsFolder, instance: `unit${process.pid}-waking`, log: pino({ level: "silent" }) },
    pool: { take: () => ({ record, live }) },
    library: {
      require: () => undefined,
      envOf: () => ({ OF_TEMPLATE: "1", BOTH: "template's" }),
      frozen: () => Promise.reject(new Error("the template is broken")),
    },
  };
  // The rest is for VMs without a clone that waits.
  engine = new VmEngine(options as unknown as EngineOptions);
});

afterEach(async () => {
  engine.close();
  await guest[Symbol.asyncDispose]();
  await rm(vmsFolder, { recursive: true, force: true });
});

test("who asks something of a clone that is being woken waits until its policy is in force and it is somebody", async () => {
  expect((await engine.put("sbx_a", spec)).status).toBe("creating");
  let isUsable = false;
  const using = engine.use("sbx_a", "exe_a").then((use) => {
    isUsable = true;
    return use;
  });
  goesOn.resolve();
  const { id, operation } = await peer.opened();
  expect(operation).toMatchObject({
    ...{ op: "configure", hostname: "a" },
    env: { OF_TEMPLATE: "1", TOKEN: "secret", BOTH: "user's" },
  });
  await peer.close(id, {});
  await sleep(FAULT_SHOWS_MS);
  expect([isUsable, engine.get("sbx_a").status]).toEqual([false, "creating"]);
  policy.resolve();
  (await using)[Symbol.dispose]();
  expect(engine.get("sbx_a").status).toBe("running");
});

test("who is answered is in the VM's record, with all that its guest still lacks, and that only until its guest has it", async () => {
  await engine.put("sbx_a", spec);
  const [found] = await recordsIn(vmsFolder);
  expect(found?.record).toMatchObject({ id: "sbx_a", slot: 7, waking: { hostname: "a", env: spec.env } });
  policy.resolve();
  goesOn.resolve();
  await peer.close((await peer.opened()).id, {});
  (await engine.use("sbx_a", "exe_a"))[Symbol.dispose]();
  expect(await readFile(join(vmsFolder, "sbx_a/vm.json"), "utf8")).not.toContain("secret");
});

test("a policy alone makes nobody of it: its owner waits for the guest too", async () => {
  await engine.put("sbx_a", spec);
  const using = engine.use("sbx_a", "exe_a");
  policy.resolve();
  goesOn.resolve();
  const { id } = await peer.opened();
  await sleep(FAULT_SHOWS_MS);
  expect(engine.get("sbx_a").status).toBe("creating");
  await peer.close(id, {});
  (await using)[Symbol.dispose]();
});

test("a clone that does not wake, and cannot be replaced, is a VM that ended, and says why", async () => {
  const before = engine.ended;
  await engine.put("sbx_a", spec);
  const asked = engine.use("sbx_a", "exe_a");
  policy.resolve();
  goesOn.reject(new Error("QEMU was killed"));
  await expect(asked).rejects.toMatchObject({ code: "vm_not_running", message: "the template is broken" });
  expect(engine.get("sbx_a")).toMatchObject({ status: "gone", reason: "the template is broken" });
  expect(engine.ended).toBeGreaterThan(before);
  expect(new Set(closedSlots)).toEqual(new Set([7, 8]));
  expect(await readFile(join(vmsFolder, "sbx_a/vm.json"), "utf8")).not.toContain("secret");
});

test("a VM that is destroyed while its clone wakes leaves nothing", async () => {
  await engine.put("sbx_a", spec);
  const destroyed = engine.destroy("sbx_a", "exe_a");
  policy.resolve();
  goesOn.resolve();
  await peer.close((await peer.opened()).id, {});
  await destroyed;
  expect([engine.list(), closedSlots]).toEqual([[], [7]]);
});

/** Until it is destroyed, which is what comes back. */
function beginAnother(): () => Promise<void> {
  const record = recordIn(vmsFolder, "sbx_other", { status: "creating", slot: 9 });
  const made = engine.begin(record, (_draft, signal) => {
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("destroyed"))));
  });
  made.catch(() => undefined);
  return () => engine.destroy(record.id, record.execution_id);
}

test("an unused VM stands still while others are still made", async () => {
  const endOther = beginAnother();
  await engine.put("sbx_a", spec);
  policy.resolve();
  goesOn.resolve();
  await peer.close((await peer.opened()).id, {});
  await expect.poll(() => told).toEqual(["cont", "stop"]);
  await endOther();
});

test("one that comes from elsewhere goes on: something may run in it", async () => {
  const endOther = beginAnother();
  goesOn.resolve();
  const record = recordIn(vmsFolder, "sbx_a", { status: "creating", slot: 7 });
  await mkdir(record.folder);
  await engine.begin(record, async () => live);
  await sleep(FAULT_SHOWS_MS);
  expect([engine.get("sbx_a").status, told]).toEqual(["running", []]);
  await endOther();
});
