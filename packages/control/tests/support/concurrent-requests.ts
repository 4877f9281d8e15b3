// Many requests at once, against rate limits whose buckets hardly refill while a test runs.

import type { KyselyPlugin } from "kysely";
import { limitDefaults } from "@skerry/contract/limits/quotas";
import type { InstallationLimits } from "../../src/context.ts";
import type { Answer } from "./world.ts";

/** Buckets do not refill while a test runs, or by no more than the test counts with. */
const SLOWLY_PER_MINUTE = 60;
export const slowLimits: InstallationLimits = {
  organization: {
    ...limitDefaults,
    rate_read_per_minute: SLOWLY_PER_MINUTE,
    rate_read_burst: 640,
    rate_write_per_minute: SLOWLY_PER_MINUTE,
    rate_write_burst: 20,
    rate_expensive_per_minute: SLOWLY_PER_MINUTE,
    rate_expensive_burst: 10,
  },
  authFailuresPerMinute: 20,
  downloadsPerMinute: 20,
  visitorsPerMinute: 20,
  vcpusPerCpu: 16,
  idempotencyWaitMs: 25_000,
  buildCacheGib: 20,
  buildCacheHostGib: 100,
  buildCacheStepMs: 0,
  metricsOrganizations: 0,
};

interface ConcurrentAnswers {
  readonly answers: readonly Answer[];
  /** By how much a token's bucket may have refilled from the first request to the last answer. */
  readonly refill: number;
}

/** Sends `count` requests, over all replicas, forty at a time. */
export async function sendConcurrently(
  replicas: readonly { readonly url: string }[],
  count: number,
  call: (url: string) => Promise<Answer>,
): Promise<ConcurrentAnswers> {
  const startedMs = performance.now();
  const answers: Answer[] = [];
  let next = 0;
  const client = async () => {
    while (next < count) {
      next += 1;
      answers.push(await call(replicas[next % replicas.length]?.url ?? ""));
    }
  };
  await Promise.all(Array.from({ length: 40 }, client));
  const elapsedMs = performance.now() - startedMs;
  return { answers, refill: Math.ceil((elapsedMs / 60_000) * SLOWLY_PER_MINUTE) };
}

export function granted({ answers }: ConcurrentAnswers): number {
  return answers.filter(({ status }) => status !== 429).length;
}

export function countingQueries(count: () => void): KyselyPlugin {
  return {
    transformQuery: ({ node }) => {
      count();
      return node;
    },
    transformResult: async ({ result }) => result,
  };
}
