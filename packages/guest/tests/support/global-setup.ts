// A folder in which the first test that needs the sanitized agent builds it for all of them.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    sanitizedAgent: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "skerry-guest-"));
  project.provide("sanitizedAgent", folder);
  return () => rm(folder, { recursive: true });
}
