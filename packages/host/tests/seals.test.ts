// Sealing the target of a build, cut off at every step.

import { copyFile, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { runProgram } from "../src/system/run.ts";
import { checkLayer } from "../src/vm/build/check-layer.ts";
import { DEPTH_MAX } from "../src/vm/build/flatten.ts";
import { Seals, type SealsOptions } from "../src/vm/build/seals.ts";
import { Layers } from "../src/vm/disk/layers.ts";
import type { Running } from "../src/vm/lifecycle/vm-table.ts";
import type { VmRecord } from "../src/vm/record/record.ts";
import { buildNative, type Native } from "./support/native.ts";

let native: Native;
let folder: string;
let layers: Layers;
beforeAll(async () => void (native = await buildNative()));
afterAll(() => native[Symbol.asyncDispose]());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-seals-"));
  layers = new Layers(join(folder, "layers"), native.dataRanges);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** The nodes that a QEMU has, and what each lies over. It outlives the host process. */
class QemuStub {
  readonly nodes = new Map<string, string | undefined>([["target", "image"]]);
  #job: { readonly id: string; readonly status: string } | undefined;
  readonly #end = Promise.withResolvers<void>();
  readonly closed = this.#end.promise;
  said: string[] = [];
  /** It ends itself at this command. */
  endsAt: string | undefined;
  /** The host process dies before this command, or after it. */
  dies: { readonly command: string; readonly when: "before" | "after" } | undefined;

  async execute(command: string, args: Record<string, string> = {}): Promise<unknown> {
    if (command === this.endsAt) this.#end.resolve();
    if (command === this.endsAt) throw new Error("QEMU closed its control socket");
    const { command: last, when } = this.dies ?? {};
    if (command === last && when === "before") throw new Error("killed");
    this.said.push(command);
    const answer = this.#do(command, args);
    if (command === last) throw new Error("killed");
    return answer;
  }

  #do(command: string, args: Record<string, string>): unknown {
    const { "node-name": name = "", node, overlay = "" } = args;
    switch (command) {
      case "query-named-block-nodes":
        return [...this.nodes].map(([known, below]) => ({
          "node-name": known,
          image: below === undefined ? {} : { "backing-image": {} },
        }));
      case "blockdev-add":
        if (this.nodes.has(name)) throw new Error("there is such a node");
        return this.nodes.set(name, undefined);
      case "blockdev-snapshot":
        return this.nodes.set(overlay, node);
      default:
        return this.#ofJob(command, args);
    }
  }

  #ofJob(command: string, { device = "", "base-node": base }: Record<string, string>): unknown {
    switch (command) {
      case "query-jobs":
        return this.#job === undefined ? [] : [this.#job];
      case "block-stream":
        if (this.#job !== undefined) throw new Error("there is such a job");
        this.#job = { id: "flatten", status: "concluded" };
        return this.nodes.set(device, base);
      case "job-dismiss":
        this.#job = undefined;
        return undefined;
      default:
        throw new Error(`no QEMU is asked for ${command}`);
    }
  }
}

function sealsOf(qmp: QemuStub, changes: { left: number } = { left: Infinity }) {
  const image = { layers: [{ digest: "0".repeat(64), bytes: 1 }], disk_gib: 1 };
  const build = { image, target: { root_image: "/image", layers: [] }, disk_gib: 1, seals: [] };
  const entry = { record: { id: "bld_a", execution_id: "exe_a", folder, slot: 0, build }, live: { qmp } };
  const engine = {
    usable: async () => entry as unknown as Running,
    change: async (_ref: unknown, work: (record: VmRecord) => VmRecord) => {
      if ((changes.left -= 1) < 0) throw new Error("killed");
      entry.record = work(entry.record as unknown as VmRecord) as unknown as typeof entry.record;
    },
  };
  const resources = { slots: { slot: () => ({ number: 0 }) }, firstVmUid: 0 };
  // More of the resources is not asked for here.
  const options = { engine, layers, resources } as unknown as SealsOptions;
  // Each host process has one of its own.
  return {
    entry,
    seal: (seal_id: string) => new Seals(options).seal("bld_a", { execution_id: "exe_a", seal_id }),
  };
}

const layersThere = async (): Promise<string[]> => (await readdir(join(folder, "layers"))).toSorted();

test.each([
  { command: "query-named-block-nodes", when: "before" },
  { command: "blockdev-add", when: "before" },
  { command: "blockdev-add", when: "after" },
  { command: "blockdev-snapshot", when: "before" },
  { command: "blockdev-snapshot", when: "after" },
] as const)("a host that is killed $when $command seals once, when it is asked again", async (dies) => {
  await writeFile(join(folder, "target.qcow2"), "what the build wrote");
  const qmp = new QemuStub();
  const { seal } = sealsOf(qmp);
  qmp.dies = dies;
  await expect(seal("seal_1")).rejects.toThrow("killed");
  qmp.dies = undefined;
  const { image } = await seal("seal_1");
  expect(image.layers).toHaveLength(2);
  expect(await seal("seal_1")).toEqual({ image });
  expect(qmp.said.filter((command) => command === "blockdev-snapshot")).toHaveLength(1);
  expect([...qmp.nodes]).toEqual([
    ["target", "image"],
    ["target-1", "target"],
  ]);
  expect(await layersThere()).toEqual([`${image.layers[1]?.digest}.layer`]);
});

test.each(["query-named-block-nodes", "blockdev-add", "blockdev-snapshot"])(
  "a VM that ends at %s is said to have ended, and leaves no layer",
  async (command) => {
    const qemu = new QemuStub();
    qemu.endsAt = command;
    await expect(sealsOf(qemu).seal("one")).rejects.toMatchObject({ code: "vm_not_running" });
    expect(await readdir(join(folder, "layers")).catch(() => [])).toEqual([]);
  },
);

test("a seal whose record could not be written is finished by the next one, which stands on it", async () => {
  await writeFile(join(folder, "target.qcow2"), "first");
  const qmp = new QemuStub();
  const changes = { left: 1 };
  const { seal, entry } = sealsOf(qmp, changes);
  await expect(seal("seal_1")).rejects.toThrow("killed");
  expect(entry.record.build.seals).toEqual([{ id: "seal_1" }]);
  changes.left = Infinity;
  const { image } = await seal("seal_2");
  expect(image.layers).toHaveLength(3);
  expect(await seal("seal_1")).toEqual({ image: { ...image, layers: image.layers.slice(0, 2) } });
  expect([...qmp.nodes.keys()]).toEqual(["target", "target-1", "target-2"]);
});

const layer = { digest: "1".repeat(64), bytes: 1 };

/** A QEMU whose target lies over as many layers as an image may have. */
function deep(changes?: { left: number }) {
  const qmp = new QemuStub();
  qmp.nodes.set("target-lowest", undefined);
  const sealed = sealsOf(qmp, changes);
  const { image } = sealed.entry.record.build;
  image.layers.push(...Array.from({ length: DEPTH_MAX - 1 }, () => layer));
  return { qmp, ...sealed, lowest: image.layers.slice(0, 1) };
}

test.each(["query-jobs", "block-stream", "job-dismiss", "blockdev-snapshot"])(
  "an image that would have too many layers has two, also where the host is killed at %s",
  async (command) => {
    await writeFile(join(folder, "target.qcow2"), "all of them");
    for (const when of ["before", "after"] as const) {
      const { qmp, seal, lowest, entry } = deep();
      qmp.dies = { command, when };
      await expect(seal("seal_1")).rejects.toThrow("killed");
      qmp.dies = undefined;
      const { image } = await seal("seal_1");
      expect(image.layers).toEqual([...lowest, expect.anything()]);
      expect(entry.record.build.seals).toMatchObject([{ id: "seal_1", is_flat: true }]);
      const second = await seal("seal_2");
      expect(second.image.layers.slice(0, 2)).toEqual(image.layers);
      expect(second.image.layers).toHaveLength(3);
      expect(await seal("seal_1")).toEqual({ image });
    }
  },
);

test("layers are put together before the record says so, and the file is changed only after it", async () => {
  await writeFile(join(folder, "target.qcow2"), "all of them");
  const changes = { left: 1 };
  const { qmp, seal, entry } = deep(changes);
  await expect(seal("seal_1")).rejects.toThrow("killed");
  expect(qmp.nodes.get("target")).toBe("target-lowest");
  expect(qmp.said).not.toContain("blockdev-snapshot");
  expect(entry.record.build.seals).toEqual([{ id: "seal_1" }]);
  changes.left = Infinity;
  expect((await seal("seal_1")).image.layers).toHaveLength(2);
});

test("a VM of an earlier version, which does not name its lowest layer, is sealed as it was", async () => {
  await writeFile(join(folder, "target.qcow2"), "one of them");
  const { qmp, seal } = deep();
  qmp.nodes.delete("target-lowest");
  expect((await seal("seal_1")).image.layers).toHaveLength(DEPTH_MAX + 1);
});

test("only a build is sealed", async () => {
  const { seal, entry } = sealsOf(new QemuStub());
  const { build: _none, ...sandbox } = entry.record;
  entry.record = sandbox as typeof entry.record;
  await expect(seal("seal_3")).rejects.toMatchObject({ code: "bad_request" });
});

async function qcow2(name: string, ...options: string[]): Promise<string> {
  const file = join(folder, name);
  await runProgram("qemu-img", ["create", "-q", "-f", "qcow2", ...options, file, "1M"], {
    deadlineMs: 30_000,
  });
  return file;
}

test("a layer that leads to another file of this machine is refused", async () => {
  await checkLayer(await qcow2("plain"));
  const secret = join(folder, "secret");
  await writeFile(secret, Buffer.alloc(1024 * 1024));
  const hostile = [
    await qcow2("backed", "-b", secret, "-F", "raw"),
    await qcow2("elsewhere", "-o", `data_file=${join(folder, "data")}`),
    await qcow2("old", "-o", "compat=0.10"),
    secret,
  ];
  for (const file of hostile) await expect(checkLayer(file)).rejects.toMatchObject({ code: "bad_request" });
  await copyFile("/dev/null", join(folder, "empty"));
  await expect(checkLayer(join(folder, "empty"))).rejects.toMatchObject({ code: "bad_request" });
});
