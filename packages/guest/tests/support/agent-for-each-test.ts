import { afterEach, beforeAll, beforeEach, expect } from "vitest";

import { type Build, buildSanitized, type RunningAgent, startAgent } from "./sanitized.ts";

const BUILD_MS = 120_000;

/** Each test of the file gets an agent of its own, which has to end without a report of its sanitizers. */
export function agentForEachTest(take: (agent: RunningAgent) => void): void {
  let build: Build;
  let agent: RunningAgent;
  beforeAll(async () => void (build = await buildSanitized()), BUILD_MS);
  beforeEach(async () => {
    agent = await startAgent(build);
    take(agent);
  });
  afterEach(async () => expect(await agent.stop()).toBe(""));
}
