// A disk of a size that a test can fill: a file system in memory, mounted on a folder of the test's own.

import { mkdtemp, rm } from "node:fs/promises";
import { runProgram } from "../../src/system/run.ts";

const DEADLINE_MS = 10_000;

export interface SmallDisk extends AsyncDisposable {
  readonly folder: string;
}

export async function mountSmallDisk(name: string, sizeMib: number): Promise<SmallDisk> {
  const folder = await mkdtemp(`/tmp/skerry-unit-${name}-`);
  const mount = ["-t", "tmpfs", "-o", `size=${sizeMib}m`, "skerry-unit", folder];
  await runProgram("mount", mount, { deadlineMs: DEADLINE_MS });
  return {
    folder,
    async [Symbol.asyncDispose]() {
      // Also where a test that has failed left a file open.
      await runProgram("umount", ["--lazy", folder], { deadlineMs: DEADLINE_MS });
      await rm(folder, { recursive: true });
    },
  };
}
