// Before the tests under KVM: a folder for their frozen templates, apart from that of the end-to-end tests, because the verdict about KVM is kept in
// it and is another one for another kernel. The images are the same files, from the cache of images.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { leftovers } from "../support/leftovers.ts";
import { assetsFolder } from "../support/test-cache.ts";

declare module "vitest" {
  interface ProvidedContext {
    readonly kvmAssets: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const assets = await assetsFolder("kvm-assets");
  project.provide("kvmAssets", assets.folder);
  const register = await ownRegister();
  return async () => {
    if (!assets.kept) await rm(assets.folder, { recursive: true, force: true });
    if (register === undefined) return;
    const left = await leftovers(await readFile(join(register, "instances"), "utf8").catch(() => ""));
    await rm(register, { recursive: true });
    if (left.length > 0) throw new Error(`the tests left behind: ${left.join(", ")}`);
  };
}

/** Undefined where the end-to-end tests of the same run look for what is left. */
async function ownRegister(): Promise<string | undefined> {
  if (process.env["SKERRY_TEST_REGISTER"] !== undefined) return undefined;
  const folder = await mkdtemp("/tmp/skerry-run-");
  process.env["SKERRY_TEST_REGISTER"] = join(folder, "instances");
  return folder;
}
