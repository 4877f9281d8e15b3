// Before the end-to-end tests: a folder for what all test hosts share (kernel, images, frozen templates), which is kept in the
// checkout's cache for the next run, and one platform that most tests use. Afterwards: everything stopped, nothing left.

import { mkdir, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TestProject } from "vitest/node";
import { leftovers } from "./leftovers.ts";
import { eagerServices, startPlatform } from "./platform.ts";

declare module "vitest" {
  interface ProvidedContext {
    readonly assets: string;
    readonly platformState: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Every platform of this run notes itself here, so that another run on the same machine is not taken for a leftover.
  const register = join(await mkdtemp("/tmp/skerry-run-"), "instances");
  process.env["SKERRY_TEST_REGISTER"] = register;
  const assets = await assetsFolder();
  const platform = await startPlatform({ assets: assets.folder, env: eagerServices });
  project.provide("assets", assets.folder);
  project.provide("platformState", platform.state);
  return async () => {
    await platform.stop();
    if (!assets.kept) await rm(assets.folder, { recursive: true, force: true });
    const left = await leftovers(await readFile(register, "utf8"));
    await rm(dirname(register), { recursive: true });
    if (left.length > 0) throw new Error(`the tests left behind: ${left.join(", ")}`);
  };
}

/** QEMU's users must be able to reach it; a checkout in a closed folder such as /root gets one that lasts for this run. */
async function assetsFolder(): Promise<{ folder: string; kept: boolean }> {
  const folder = join(import.meta.dirname, "../../.cache/assets");
  await mkdir(folder, { recursive: true });
  for (let above = folder; above !== "/"; above = dirname(above)) {
    const { mode } = await stat(above);
    if ((mode & 0o001) === 0) return { folder: await mkdtemp("/tmp/skerry-assets-"), kept: false };
  }
  return { folder, kept: true };
}
