// Seals what the target of a build holds: the file that was written to becomes a layer, and the VM goes on over it. Each step can be repeated,
// after this host process has died in the middle of it too:
//
//   1. the record names the seal
//   2. where the image would have too many layers, QEMU puts those above the lowest together, and the record says so
//   3. QEMU writes to a new file from now on; whether it does, QEMU itself says
//   4. the file of before is copied among the layers, under its digest. Copied, because a QEMU that its guest has taken over may still write to it
//   5. the record names the layer

import { chown, rm } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import {
  SEAL_WITHIN_MS,
  type DiskImage,
  type DiskLayer,
  type Sealed,
  type SealVm,
} from "@skerry/contract/host-api/templates";
import type { Layers } from "../disk/layers.ts";
import { LayerFault } from "../disk/layer-stream.ts";
import { emptyTarget } from "../../templates/frozen.ts";
import { withinDiskReserve } from "../disk/disk-reserve.ts";
import { KeyedQueue } from "../../system/keyed-queue.ts";
import { fullDiskError } from "../lifecycle/end-of-full-disk.ts";
import type { Running } from "../lifecycle/vm-table.ts";
import { LOWEST_NODE, TARGET_DEVICE, targetNode, vmPaths } from "../qemu/qemu-arguments.ts";
import type { Qmp } from "../qemu/qmp.ts";
import type { BuildRecord, VmRecord } from "../record/record.ts";
import { fileMibOf, uidOf, type HostResources } from "../record/vm-resources.ts";
import { DEPTH_MAX, flatten } from "./flatten.ts";

export interface SealsOptions {
  readonly engine: {
    usable(id: string, executionId: string): Promise<Running>;
    change(ref: Pick<VmRecord, "id" | "execution_id">, work: (record: VmRecord) => VmRecord): Promise<void>;
  };
  readonly layers: Layers;
  readonly resources: HostResources;
}

type Seal = BuildRecord["seals"][number];

const MIB = 1024 ** 2;

export class Seals {
  readonly #options: SealsOptions;
  /** One at a time for each VM. */
  readonly #queue = new KeyedQueue();

  constructor(options: SealsOptions) {
    this.#options = options;
  }

  /** Throws `bad_request` where no template is built in the VM, and `disk_full` where the target holds more than its image may. */
  async seal(id: string, { execution_id, seal_id }: SealVm): Promise<Sealed> {
    const { engine } = this.#options;
    const entry = await engine.usable(id, execution_id);
    return this.#queue.take(id, async () => {
      await this.#note(entry, seal_id);
      // One before it may have been cut off, and this one stands on it.
      for (const { id: each, layer } of buildOf(entry).seals) {
        if (layer === undefined) await this.#finish(entry, each);
        if (each === seal_id) break;
      }
      return { image: imageUpTo(buildOf(entry), seal_id) };
    });
  }

  async #note(entry: Running, sealId: string): Promise<void> {
    if (buildOf(entry).seals.some(({ id }) => id === sealId)) return;
    await this.#change(entry, (build) => ({ ...build, seals: [...build.seals, { id: sealId }] }));
  }

  async #finish(entry: Running, sealId: string): Promise<void> {
    const { layers, resources } = this.#options;
    const { record, live } = entry;
    const build = buildOf(entry);
    const index = build.seals.findIndex(({ id }) => id === sealId);
    const uid = uidOf(resources, resources.slots.slot(record.slot));
    const endMs = performance.now() + SEAL_WITHIN_MS;
    await orEnded(entry, this.#flatten(entry, index, endMs));
    await orEnded(entry, cut(live.qmp, { folder: record.folder, uid, index }));
    const file = join(record.folder, fileOf(index));
    const maxBytes = fileMibOf(build.disk_gib) * MIB;
    const content = whileWorthIt(entry, withinDiskReserve(record.folder, layers.read(file)), endMs);
    const layer = await layers.keep(content, maxBytes).catch(tooLarge);
    await this.#changeSeal(entry, sealId, { layer });
  }

  async #flatten(entry: Running, index: number, endMs: number): Promise<void> {
    const { seals, ...build } = buildOf(entry);
    const { id: sealId = "", is_flat } = seals[index] ?? {};
    const below = imageOf({ ...build, seals: seals.slice(0, index) });
    if (is_flat === true || below.layers.length < DEPTH_MAX) return;
    const { record, live } = entry;
    const { all, inUse } = await nodesOf(live.qmp);
    // A VM of an earlier version cannot be told what is the lowest, and a seal of one has perhaps gone further.
    if (!all.has(LOWEST_NODE) || inUse.has(nodeOf(index + 1))) return;
    await flatten(live.qmp, { node: nodeOf(index), folder: record.folder, layers: below.layers, endMs });
    await this.#changeSeal(entry, sealId, { is_flat: true });
  }

  #changeSeal(entry: Running, sealId: string, facts: Partial<Seal>): Promise<void> {
    return this.#change(entry, ({ seals, ...rest }) => ({
      ...rest,
      seals: seals.map((seal) => (seal.id === sealId ? { ...seal, ...facts } : seal)),
    }));
  }

  #change(
    { record: { id, execution_id } }: Running,
    work: (build: BuildRecord) => BuildRecord,
  ): Promise<void> {
    return this.#options.engine.change({ id, execution_id }, ({ build, ...record }) =>
      build === undefined ? record : { ...record, build: work(build) },
    );
  }
}

function buildOf({ record: { build } }: Running): BuildRecord {
  if (build === undefined) throw new SkerryError("bad_request", "No template is built in this VM.");
  return build;
}

function imageUpTo({ seals, ...build }: BuildRecord, sealId: string): DiskImage {
  const last = seals.findIndex(({ id }) => id === sealId);
  return imageOf({ ...build, seals: seals.slice(0, last + 1) });
}

/** With all that was sealed. */
function imageOf({ image, disk_gib, seals }: Pick<BuildRecord, "image" | "disk_gib" | "seals">): DiskImage {
  const layers = seals.reduce<readonly DiskLayer[]>((below, { layer, is_flat }) => {
    if (layer === undefined) return below;
    return [...(is_flat === true ? below.slice(0, 1) : below), layer];
  }, image.layers);
  return { layers: [...layers], disk_gib };
}

/** What the VM writes to after so many seals, and its node in QEMU. */
function fileOf(seals: number): string {
  return seals === 0 ? vmPaths.target : vmPaths.target.replace(".", `-${seals}.`);
}

function nodeOf(seals: number): string {
  return seals === 0 ? TARGET_DEVICE : `${TARGET_DEVICE}-${seals}`;
}

interface Cut {
  readonly folder: string;
  readonly uid: number;
  /** How many seals there were before. */
  readonly index: number;
}

async function cut(qmp: Qmp, { folder, uid, index }: Cut): Promise<void> {
  const node = nodeOf(index + 1);
  const nodes = await nodesOf(qmp);
  // The guest writes to it, or has done so until a later seal.
  if (nodes.inUse.has(node)) return;
  if (!nodes.all.has(node)) {
    const file = join(folder, fileOf(index + 1));
    await rm(file, { force: true });
    await emptyTarget(file);
    await chown(file, uid, uid);
    await qmp.execute("blockdev-add", { ...targetNode(node, fileOf(index + 1), null) });
  }
  await qmp.execute("blockdev-snapshot", { node: nodeOf(index), overlay: node });
}

interface Node {
  readonly "node-name"?: string;
  readonly image?: { readonly "backing-image"?: unknown };
}

/** Of those whose name we gave: which there are, and which lie over another one. A new one lies over none before the guest writes to it. */
async function nodesOf(qmp: Qmp): Promise<{ all: Set<string>; inUse: Set<string> }> {
  const found = (await qmp.execute("query-named-block-nodes")) as readonly Node[];
  const names = (some: readonly Node[]): Set<string> => new Set(some.map((node) => node["node-name"] ?? ""));
  return {
    all: names(found),
    inUse: names(found.filter(({ image }) => image?.["backing-image"] !== undefined)),
  };
}

/** A QEMU may end at any question. What that throws speaks of a socket, and would be told as a fault of ours. */
async function orEnded(entry: Running, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (cause) {
    if (await Promise.race([entry.live.qmp.closed.then(() => true), nextTurn(false)]))
      throw ended(entry, cause);
    throw cause;
  }
}

function ended({ record: { reason } }: Running, cause?: unknown): SkerryError {
  return (
    fullDiskError(reason) ??
    new SkerryError("vm_not_running", "The VM ended while its target was sealed.", { cause })
  );
}

/** Ends with the VM, since what is copied is of no use then, and with the time that the caller waits. */
async function* whileWorthIt(
  entry: Running,
  content: AsyncIterable<Uint8Array>,
  endMs: number,
): AsyncGenerator<Uint8Array> {
  let isOpen = true;
  void entry.live.qmp.closed.then(() => (isOpen = false));
  for await (const part of content) {
    if (performance.now() > endMs)
      throw new SkerryError("guest_timeout", "The target could not be copied in time.", {
        remediation: "Try again when less is going on on the host, or build less at once.",
      });
    if (!isOpen) throw ended(entry);
    yield part;
  }
}

function tooLarge(cause: unknown): never {
  if (!(cause instanceof LayerFault)) throw cause;
  throw new SkerryError("disk_full", "The target holds more than its image may.", {
    remediation: "Give the build a larger disk.",
    cause,
  });
}
