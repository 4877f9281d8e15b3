// Before the end-to-end tests: a folder for what all test hosts share (kernel, images, frozen templates), which is kept for the next run, and one
// platform that most tests use. Afterwards: everything stopped, nothing left.
//
// On a machine that has none the platform builds images for some minutes, in which the other groups of tests run. `await-platform.ts` waits for it.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { leftovers } from "./leftovers.ts";
import { assetsFolder } from "./test-cache.ts";
import { eagerServices, newInstallation, startInstallation } from "./platform.ts";

declare module "vitest" {
  interface ProvidedContext {
    readonly assets: string;
    readonly platformState: string;
    /** A file that says what came of the platform's start: `up`, or the error. It is not there before. */
    readonly platformOutcome: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Every platform of this run notes itself here, so that another run on the same machine is not taken for a leftover.
  const folder = await mkdtemp("/tmp/skerry-run-");
  const register = join(folder, "instances");
  process.env["SKERRY_TEST_REGISTER"] = register;
  const assets = await assetsFolder("assets");
  const installation = await newInstallation({ assets: assets.folder, env: eagerServices });
  const outcome = join(folder, "outcome");
  const starting = startInstallation(installation).then(
    async (platform) => {
      await writeFile(outcome, "up");
      return platform;
    },
    async (error: unknown) => {
      await writeFile(outcome, String(error));
      return undefined;
    },
  );
  project.provide("assets", assets.folder);
  project.provide("platformState", installation.state);
  project.provide("platformOutcome", outcome);
  return async () => {
    await (await starting)?.stop();
    if (!assets.kept) await rm(assets.folder, { recursive: true, force: true });
    const left = await leftovers(await readFile(register, "utf8"));
    await rm(folder, { recursive: true });
    if (left.length > 0) throw new Error(`the tests left behind: ${left.join(", ")}`);
  };
}
