// `service list` and `service run NAME`: the background services as an operator sees them who looks for what is wrong.

import { pino } from "pino";
import { runOnce } from "../background/run-once.ts";
import { allServices, newLeases } from "./schedule.ts";
import type { Config } from "./config.ts";
import { openContext } from "./open-context.ts";
import { listLeases } from "../background/lease.ts";

/** Longer than a service that is under way on some replica may take. */
const RUN_WITHIN_MS = 120_000;

/** What is printed, as JSON. Throws where the arguments name nothing. */
export async function serviceCommand(config: Config, args: readonly string[]): Promise<unknown> {
  const [verb, name, ...more] = args;
  // What a service says of its work goes to stderr; the report is all that is on stdout.
  const log = pino({ level: config.logLevel, base: null }, pino.destination(2));
  await using opened = await openContext(config, log);
  const { context } = opened;
  const services = allServices(context, config);
  if (verb === "list" && name === undefined) {
    const leases = new Map((await listLeases(context.db)).map((lease) => [lease.name, lease]));
    return services.map(({ service }) => ({
      name: service.name,
      every_ms: service.everyMs,
      ...leases.get(service.name),
    }));
  }
  const found = services.find(({ service }) => service.name === name);
  if (verb !== "run" || found === undefined || more.length > 0) {
    const names = services.map(({ service }) => service.name).join(", ");
    throw new Error(`Use \`service list\`, or \`service run NAME\` with one of: ${names}.`);
  }
  return await runOnce(context, found, {
    leases: newLeases(context),
    stop: AbortSignal.timeout(RUN_WITHIN_MS),
  });
}
