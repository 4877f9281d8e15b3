// What the target of a VM in which a template is built stands on.

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { SkerryError } from "@skerry/contract/errors";
import type { DiskImage, DiskLayer, VmBuild } from "@skerry/contract/host-api/templates";
import type { Layers } from "../disk/layers.ts";
import type { TemplateLibrary } from "../../templates/library.ts";
import { vmPaths } from "../qemu/qemu-arguments.ts";
import type { BuildRecord } from "../record/record.ts";
import type { Snapshots } from "../saved/snapshots.ts";
import { fileMibOf } from "../record/vm-resources.ts";
import { checkLayer } from "./check-layer.ts";

export interface BuildOnOptions {
  readonly library: Pick<TemplateLibrary, "imageOf" | "images">;
  readonly layers: Layers;
  readonly snapshots: Pick<Snapshots, "whole">;
}

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** Throws `layer_missing` where a layer is not on this host, `snapshot_not_found`, `snapshot_damaged` and `template_not_ready`. */
export async function buildOn(options: BuildOnOptions, { on, disk_gib }: VmBuild): Promise<BuildRecord> {
  const found = await filesOf(options, on, disk_gib);
  if (found.image.disk_gib > disk_gib)
    throw new SkerryError(
      "bad_request",
      `What the build stands on has ${found.image.disk_gib} GiB, so its own disk cannot have ${disk_gib}.`,
    );
  return { ...found, disk_gib, seals: [] };
}

type Found = Pick<BuildRecord, "image" | "target">;

async function filesOf(options: BuildOnOptions, on: VmBuild["on"], diskGib: number): Promise<Found> {
  const { library, layers } = options;
  switch (on.kind) {
    case "template": {
      const { file, disk_gib } = library.imageOf(on.template);
      const layer = await layers.describe(file);
      return { image: { layers: [layer], disk_gib }, target: { root_image: file, layers: [] } };
    }
    case "image":
      return { image: on.image, target: await imageFiles(options, on.image) };
    case "snapshot": {
      const image = await snapshotImage(options, on.snapshot_id);
      return { image, target: await imageFiles(options, image) };
    }
    case "empty": {
      const layer = await layers.empty(diskGib);
      const image = { layers: [layer], disk_gib: diskGib };
      return { image, target: await imageFiles(options, image) };
    }
  }
}

/** What its disk stands on and the disk itself become layers. A call that was not waited for leaves those that it made, and the next one finds them. */
async function snapshotImage({ layers, snapshots }: BuildOnOptions, id: string): Promise<DiskImage> {
  const { folder, saved } = await snapshots.whole(id);
  const { root_image, layers: between = [], frozen_disk, disk_gib } = saved.below;
  const diskGib = disk_gib ?? Math.ceil((await stat(root_image)).size / GIB);
  const image: DiskLayer[] = [];
  for (const file of [root_image, ...between]) image.push(await layers.describe(file));
  for (const file of [frozen_disk, join(folder, vmPaths.disk)]) {
    const digest = await layers.digestOf(file);
    const known = await layers.find(digest, []);
    image.push(
      known === undefined
        ? await layers.keep(layers.read(file), fileMibOf(diskGib) * MIB)
        : await layers.describe(known),
    );
  }
  return { layers: image, disk_gib: diskGib };
}

/** The files of an image's layers. Throws `layer_missing`. */
export async function imageFiles(
  { library, layers }: Pick<BuildOnOptions, "library" | "layers">,
  image: DiskImage,
): Promise<BuildRecord["target"]> {
  const { found, missing } = await findLayers({ library, layers }, image);
  const [lost] = missing;
  if (lost !== undefined)
    throw new SkerryError("layer_missing", "A layer of the image is not on this host.", {
      remediation: "Take it from another host, or build it again.",
      context: { digest: lost.digest },
    });
  const [root_image = "", ...above] = found;
  return { root_image, layers: above };
}

/** Files of those layers that are here, and which are not. */
export async function findLayers(
  { library, layers }: Pick<BuildOnOptions, "library" | "layers">,
  image: DiskImage,
): Promise<{ readonly found: string[]; readonly missing: DiskLayer[] }> {
  const found: string[] = [];
  const missing: DiskLayer[] = [];
  for (const [index, layer] of image.layers.entries()) {
    const file = await layers.find(layer.digest, index === 0 ? await library.images() : []);
    if (file === undefined) missing.push(layer);
    else found.push(file);
    if (file !== undefined && index > 0) await checkLayer(file);
  }
  return { found, missing };
}
