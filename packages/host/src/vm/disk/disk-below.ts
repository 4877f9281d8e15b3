// The base files of a VM's disk: the root image and the frozen disk under the VM's own qcow2 layer. That
// layer is useless without them, so a machine's folder names them twice: in its record, and in a small file
// that is written once and never replaced.

import { open, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Type, type Static } from "typebox";
import { Compile } from "typebox/compile";

/** Paths of the files under a VM's disk. They may be neither removed nor changed before the VM is
 *  destroyed. */
export const DiskBelow = Type.Object(
  { root_image: Type.String({ minLength: 1 }), frozen_disk: Type.String({ minLength: 1 }) },
  { additionalProperties: false },
);
export type DiskBelow = Static<typeof DiskBelow>;

/** The folders in which such files lie. */
export interface DiskPlaces {
  /** Root images of templates. */
  readonly images: string;
  /** Frozen templates, a folder each. */
  readonly frozen: string;
  /** Layers that came with VMs from other hosts. */
  readonly layers: string;
}

/** Of a host with these folders. */
export function diskPlaces({
  stateFolder,
  assetsFolder,
}: {
  readonly stateFolder: string;
  readonly assetsFolder: string;
}): DiskPlaces {
  return {
    images: join(assetsFolder, "images"),
    frozen: join(assetsFolder, "frozen"),
    layers: join(stateFolder, "layers"),
  };
}

/** The same files where they are now: the state folder may have been moved, or restored elsewhere, since
 *  the paths were written. */
export function placedBelow(below: DiskBelow, places: DiskPlaces): DiskBelow {
  return {
    root_image: placed(below.root_image, places),
    frozen_disk: placed(below.frozen_disk, places),
  };
}

function placed(file: string, { images, frozen, layers }: DiskPlaces): string {
  const folder = dirname(file);
  if (basename(folder) === "images") return join(images, basename(file));
  if (basename(folder) === "layers") return join(layers, basename(file));
  if (basename(dirname(folder)) === "frozen") return join(frozen, basename(folder), basename(file));
  return file;
}

/** In a machine's folder. */
export const BELOW_FILE = "below.json";

const belowShape = Compile(DiskBelow);

/** Writes the second copy unless it is there. It is on the disk when this resolves. */
export async function saveBelow(folder: string, below: DiskBelow): Promise<void> {
  const file = await open(join(folder, BELOW_FILE), "wx", 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EEXIST") return undefined;
    throw error;
  });
  if (file === undefined) return;
  try {
    await file.writeFile(JSON.stringify(below));
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Undefined where there is no such file, or it is not what `saveBelow` writes. */
export async function readBelow(folder: string, places: DiskPlaces): Promise<DiskBelow | undefined> {
  try {
    const below: unknown = JSON.parse(await readFile(join(folder, BELOW_FILE), "utf8"));
    return belowShape.Check(below) ? placedBelow(below, places) : undefined;
  } catch {
    return undefined;
  }
}
