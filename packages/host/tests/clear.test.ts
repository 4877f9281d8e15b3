// What `skerry down` does with VMs, without a host process and without a guest.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { clearVms } from "../src/app/clear-vms.ts";
import type { HostConfig } from "../src/config/config.ts";
import { FakeQemu } from "./support/fake-qemu.ts";
import { buildNative, type Native } from "./support/native.ts";
import { testRange } from "./support/network.ts";
import { identityOf, leave, recordIn, recordsIn } from "./support/records.ts";
import type { Waking } from "../src/vm/record/record.ts";

const unit = `${process.pid.toString(16)}c`;

let native: Native;
let stateFolder: string;
let qemu: ChildProcess;

beforeAll(async () => {
  native = await buildNative();
});
afterAll(() => native[Symbol.asyncDispose]());
beforeEach(async () => {
  stateFolder = await mkdtemp("/tmp/skerry-unit-clear-");
  qemu = spawn("sleep", ["600"], { stdio: "ignore" });
  await once(qemu, "spawn");
});
afterEach(async () => {
  qemu.kill("SIGKILL");
  await rm(stateFolder, { recursive: true });
});

function config(): HostConfig {
  return {
    stateFolder,
    assetsFolder: join(stateFolder, "assets"),
    instance: `unit-${unit}`,
    cgroup: `unit-${unit}`,
    nativeFolder: native.folder,
    firstVmUid: 1_899_100_000,
    nameProxyUid: 1_899_099_999,
    network: {
      table: `skerry_unit_${unit}`,
      linkPrefix: `u${unit}`,
      range: testRange(2),
      seed: 0,
      resolverPort: 10_053,
      edgeUid: 1_899_099_998,
      edgePeers: [],
      nameProxyPort: 10_054,
      neverCidrs: [],
      nameServers: [],
    },
  } as unknown as HostConfig; // the rest is for a host that runs
}

test("a machine that has arrived and was not decided about is not run for its end: it may run elsewhere", async () => {
  const vmsFolder = join(stateFolder, "vms");
  const { folder } = await leave(
    recordIn(vmsFolder, "mch_a", {
      status: "creating",
      name: `${config().instance}:mch_a:exe_1`,
      process: await identityOf(qemu),
      machine: { command: null, keeps_disk: true, stopping: false },
      arrival: { move_id: "mov_1", whole: true },
    }),
  );
  await writeFile(join(folder, "disk.qcow2"), "disk");
  await using control = await FakeQemu.listen(join(folder, "qmp.sock"));
  const ended = once(qemu, "exit");
  await clearVms(config(), pino({ level: "silent" }));
  expect(control.told).toEqual([]);
  await ended;
  expect((await recordsIn(vmsFolder))[0]?.record?.status).toBe("gone");
  expect((await readdir(folder)).toSorted()).toEqual(["disk.qcow2", "vm.json"]);
});

test("a sandbox that is paused keeps its files, and one that ran leaves a record of why it ended", async () => {
  const vmsFolder = join(stateFolder, "vms");
  const name = (id: string) => `${config().instance}:${id}:exe_1`;
  const { folder } = await leave(
    recordIn(vmsFolder, "sbx_paused", { status: "paused", name: name("sbx_paused") }),
  );
  for (const file of ["disk.qcow2", "memory"]) await writeFile(join(folder, file), "saved");
  const ran = recordIn(vmsFolder, "sbx_ran", { status: "running", name: name("sbx_ran") });
  const { folder: ended } = await leave({ ...ran, process: await identityOf(qemu) });
  await writeFile(join(ended, "disk.qcow2"), "disk");
  const before = (await readdir(folder)).toSorted();
  await clearVms(config(), pino({ level: "silent" }));
  expect((await readdir(folder)).toSorted()).toEqual(before);
  expect(await readdir(ended)).toEqual(["vm.json"]);
  const records = await recordsIn(vmsFolder);
  expect(records.map(({ record }) => [record?.id, record?.status, record?.reason])).toEqual([
    ["sbx_paused", "paused", null],
    ["sbx_ran", "gone", "its host was taken down"],
  ]);
});

test.each([
  ["sbx_a", {}],
  ["mch_a", { machine: { command: null, keeps_disk: false, stopping: false } }],
  [
    "mch_a",
    {
      machine: { command: null, keeps_disk: false, stopping: false },
      arrival: { move_id: "mov_1", whole: false },
    },
  ],
])(
  "of %s, whose creation did not come to its end (%j), nothing is in the way of the next one",
  async (id, fields) => {
    const vmsFolder = join(stateFolder, "vms");
    await leave(
      recordIn(vmsFolder, id, { status: "creating", name: `${config().instance}:${id}:exe_1`, ...fields }),
    );
    await clearVms(config(), pino({ level: "silent" }));
    expect(await readdir(vmsFolder)).toEqual([]);
  },
);

test("a sandbox that was waking leaves nothing of its environment", async () => {
  const vmsFolder = join(stateFolder, "vms");
  const waking: Waking = { env: { TOKEN: "hush" }, hostname: "a" };
  const { folder } = await leave(
    recordIn(vmsFolder, "sbx_a", {
      ...{ status: "creating", name: `${config().instance}:sbx_a:exe_1` },
      waking,
    }),
  );
  await clearVms(config(), pino({ level: "silent" }));
  const record = await readFile(join(folder, "vm.json"), "utf8");
  expect(record).toContain("its host was taken down");
  expect(record).not.toContain("hush");
});

test.each([
  ["is absent", undefined, ["mch_a"]],
  ["is empty", "", ["mch_a"]],
  // It may be paused.
  ["was written by a newer version", '{"format":99}', ["mch_a", "sbx_a"]],
])("the disk of a machine whose record %s stays", async (_what, record, stay) => {
  const vmsFolder = join(stateFolder, "vms");
  for (const id of ["mch_a", "sbx_a"]) {
    await mkdir(join(vmsFolder, id), { recursive: true });
    await writeFile(join(vmsFolder, id, "disk.qcow2"), "data");
    if (record !== undefined) await writeFile(join(vmsFolder, id, "vm.json"), record);
  }
  expect(await clearVms(config(), pino({ level: "silent" }))).toEqual(["mch_a"]);
  expect((await readdir(vmsFolder)).toSorted()).toEqual(stay);
  expect(await readFile(join(vmsFolder, "mch_a/disk.qcow2"), "utf8")).toBe("data");
});
