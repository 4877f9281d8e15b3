// One run of one background service by a command of control, beside the replicas that serve.

import { pino } from "pino";
import { runOnce } from "../background/run-once.ts";
import type { ServiceName } from "../context.ts";
import { allServices, newLeases } from "./schedule.ts";
import type { Config } from "./config.ts";
import { openContext } from "./open-context.ts";

/** Longer than a service that is under way on some replica may take. */
const RUN_WITHIN_MS = 120_000;

export async function runService(config: Config, name: ServiceName): Promise<void> {
  // Standard output is the command's own.
  const log = pino({ level: config.logLevel, base: null }, pino.destination(2));
  await using opened = await openContext(config, log);
  const { context } = opened;
  const found = allServices(context, config).find(({ service }) => service.name === name);
  if (found === undefined) throw new Error(`There is no background service "${name}".`);
  await runOnce(context, found, { leases: newLeases(context), stop: AbortSignal.timeout(RUN_WITHIN_MS) });
}
