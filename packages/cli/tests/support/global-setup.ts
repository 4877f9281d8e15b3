// The `skerry` program as it is shipped, bundled once from the sources as they are now: tests start it hundreds of times.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { bundle } from "../../../../setup/bundle.ts";

declare module "vitest" {
  interface ProvidedContext {
    cliProgram: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "skerry-cli-bundle-"));
  await bundle(["skerry"], folder);
  project.provide("cliProgram", join(folder, "skerry.js"));
  return () => rm(folder, { recursive: true });
}
