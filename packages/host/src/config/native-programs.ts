// Paths of programs of packages/host/native that several parts of the host start.

import { join } from "node:path";
import type { HostConfig } from "./config.ts";

type NativeFolder = Pick<HostConfig, "nativeFolder">;

/** Holds what other programs start and mount (native/contain.c). */
export function containOf({ nativeFolder }: NativeFolder): string {
  return join(nativeFolder, "contain");
}

/** Tells where a file has holes (native/data-ranges.c). */
export function dataRangesOf({ nativeFolder }: NativeFolder): string {
  return join(nativeFolder, "data-ranges");
}
