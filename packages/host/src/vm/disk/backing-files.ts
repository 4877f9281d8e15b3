// What a VM's disk stands on: the root image, the layers that a build laid over it, and the frozen disk under the VM's own layer. A qcow2
// layer is worth nothing without them, so a machine's folder says it twice, in its record and in a small file that is written once.

import { open, readFile, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Type, type Static } from "typebox";
import { Compile } from "typebox/compile";

/** Paths of the files under a VM's disk. They may be neither removed nor changed before the VM is
 *  destroyed. */
export const BackingFiles = Type.Object(
  {
    root_image: Type.String({ minLength: 1 }),
    /** Between the two, the lowest first. Absent where the template is built in. */
    layers: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { maxItems: 16 })),
    frozen_disk: Type.String({ minLength: 1 }),
    /** Size of the disk. Absent where it is as large as the root image. */
    disk_gib: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  { additionalProperties: false },
);
export type BackingFiles = Static<typeof BackingFiles>;

/** Their paths. */
export function pathsOf({ root_image, layers = [], frozen_disk }: BackingFiles): string[] {
  return [root_image, ...layers, frozen_disk];
}

/** As QEMU's command line names them. */
export function diskFiles({ root_image, layers = [], frozen_disk }: BackingFiles) {
  return { rootImage: root_image, layers, frozenDisk: frozen_disk } as const;
}

/** The folders in which such files lie. */
export interface BackingPlaces {
  /** Root images of templates. */
  readonly images: string;
  /** Frozen templates, a folder each. */
  readonly frozen: string;
  /** The same of templates that are not built in. */
  readonly ownFrozen: string;
  /** Layers that builds have made, or that came from other hosts. */
  readonly layers: string;
}

/** Of a host with these folders. */
export function backingPlaces({
  stateFolder,
  assetsFolder,
}: {
  readonly stateFolder: string;
  readonly assetsFolder: string;
}): BackingPlaces {
  return {
    images: join(assetsFolder, "images"),
    frozen: join(assetsFolder, "frozen"),
    ownFrozen: join(stateFolder, "own-frozen"),
    layers: join(stateFolder, "layers"),
  };
}

/** The same files where they are now: the state folder may have been moved, or restored elsewhere, since
 *  the paths were written. */
export function placedBackingFiles(below: BackingFiles, places: BackingPlaces): BackingFiles {
  return {
    ...below,
    root_image: placedFile(below.root_image, places),
    ...(below.layers === undefined ? {} : { layers: below.layers.map((file) => placedFile(file, places)) }),
    frozen_disk: placedFile(below.frozen_disk, places),
  };
}

export function placedFile(file: string, { images, frozen, ownFrozen, layers }: BackingPlaces): string {
  const folder = dirname(file);
  if (basename(folder) === "images") return join(images, basename(file));
  if (basename(folder) === "layers") return join(layers, basename(file));
  if (basename(dirname(folder)) === "frozen") return join(frozen, basename(folder), basename(file));
  if (basename(dirname(folder)) === "own-frozen") return join(ownFrozen, basename(folder), basename(file));
  return file;
}

/** In a machine's folder. */
export const BELOW_FILE = "below.json";

const belowShape = Compile(BackingFiles);

/** Writes the second copy unless it is there. It is on the disk when this resolves. One that a full disk or a crash has cut off is written
 *  anew. */
export async function saveBackingFiles(folder: string, below: BackingFiles): Promise<void> {
  const file = join(folder, BELOW_FILE);
  if ((await belowIn(file)) !== undefined) return;
  const part = await open(`${file}.part`, "w", 0o600);
  try {
    await part.writeFile(JSON.stringify(below));
    await part.sync();
  } finally {
    await part.close();
  }
  await rename(`${file}.part`, file);
}

/** Undefined where there is no such file, or it is not what `saveBackingFiles` writes. */
export async function readBackingFiles(
  folder: string,
  places: BackingPlaces,
): Promise<BackingFiles | undefined> {
  const below = await belowIn(join(folder, BELOW_FILE));
  return below === undefined ? undefined : placedBackingFiles(below, places);
}

async function belowIn(file: string): Promise<BackingFiles | undefined> {
  try {
    const below: unknown = JSON.parse(await readFile(file, "utf8"));
    return belowShape.Check(below) ? below : undefined;
  } catch {
    return undefined;
  }
}
