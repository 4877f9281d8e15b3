// What a path is on this machine, and how much was copied, in words.

import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { CopyTarget, PathKind } from "./landing.ts";
import { counted } from "../../output/counted.ts";

export async function localTarget(path: string): Promise<CopyTarget> {
  const [own, parent] = await Promise.all([statIfThere(path), statIfThere(dirname(path))]);
  return {
    path,
    kind: own === undefined ? "none" : localKind(own),
    isParentDirectory: parent?.isDirectory() === true,
  };
}

export function localKind(stats: Stats): PathKind {
  if (stats.isDirectory()) return "directory";
  return stats.isFile() || stats.isSymbolicLink() ? "file" : "other";
}

const MIB = 1024 * 1024;

/** `22 files into /root, 1234 bytes`. */
export function amountText(
  { files, bytes }: { readonly files: number; readonly bytes: number },
  into?: string,
): string {
  const size = bytes < MIB ? counted(bytes, "byte") : `${(bytes / MIB).toFixed(1)} MiB`;
  return `${counted(files, "file")}${into === undefined ? "" : ` into ${into}`}, ${size}`;
}

async function statIfThere(path: string): Promise<Stats | undefined> {
  return stat(path).catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    // Below a file there is nothing.
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  });
}
