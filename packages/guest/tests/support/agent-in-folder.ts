// An agent for each test of a file, and a folder that is the test's own.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeAll, beforeEach, expect } from "vitest";
import { type Build, buildSanitized, type RunningAgent, startAgent } from "./sanitized.ts";

const BUILD_MS = 120_000;

export interface AgentInFolder {
  readonly agent: RunningAgent;
  readonly folder: string;
  /** The path of what has this name in the folder. */
  inside(name: string): string;
}

/** Also has each test fail in which the agent reports a fault of memory. */
export function useAgentInFolder(what: string): AgentInFolder {
  let build: Build;
  let agent: RunningAgent;
  let folder: string;
  beforeAll(async () => void (build = await buildSanitized()), BUILD_MS);
  beforeEach(async () => {
    folder = mkdtempSync(path.join(tmpdir(), `skerry-guest-${what}-`));
    agent = await startAgent(build);
  });
  afterEach(async () => {
    expect(await agent.stop()).toBe("");
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    get agent() {
      return agent;
    },
    get folder() {
      return folder;
    },
    inside: (name) => path.join(folder, name),
  };
}
