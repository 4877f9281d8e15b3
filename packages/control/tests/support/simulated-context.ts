// What services work with, on simulated hosts, and without limits.

import { pino } from "pino";
import { limitNames, type OrganizationLimits } from "@skerry/contract/limits/quotas";
import { makeContext } from "../../src/app/make-context.ts";
import type { Context } from "../../src/context.ts";
import type { Database } from "../../src/db/database.ts";
import type { SimulatedHosts } from "./simulated-hosts.ts";

export function simulatedContext(db: Database, hosts: SimulatedHosts): Context {
  // Object.fromEntries forgets which names it was given.
  const organization = Object.fromEntries(
    limitNames.map((name) => [name, 1_000_000_000]),
  ) as OrganizationLimits;
  const limits = {
    ...{ organization, authFailuresPerMinute: 1, downloadsPerMinute: 1, visitorsPerMinute: 1 },
    ...{
      vcpusPerCpu: 16,
      idempotencyWaitMs: 25_000,
      buildCacheGib: 20,
      buildCacheHostGib: 100,
      buildCacheStepMs: 0,
      metricsOrganizations: 0,
    },
  };
  return makeContext(db, pino({ level: "silent" }), { hosts, limits });
}
