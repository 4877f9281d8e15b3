import { SkerryError } from "@skerry/contract/errors";
import type { BackgroundService } from "@skerry/contract/platform/background-service";
import type { Versioned } from "../api/versioned.ts";
import { listLeases } from "../background/list-leases.ts";
import type { Context, ServiceName } from "../context.ts";
import { quoted } from "../values/quoted.ts";

type Lease = Awaited<ReturnType<typeof listLeases>>[number];

export async function listBackgroundServices({ db, serviceNames }: Context): Promise<BackgroundService[]> {
  const leases = new Map((await listLeases(db)).map((lease) => [lease.name, lease]));
  return serviceNames.map((name) => serviceOf(name, leases.get(name)));
}

/** Throws `service_not_found`. */
export async function getBackgroundService(context: Context, name: string): Promise<BackgroundService> {
  const known = nameOf(context, name);
  const lease = (await listLeases(context.db)).find((one) => one.name === known);
  return serviceOf(known, lease);
}

/** It is due at once. A replica that hears of it runs it, unless it runs already: then it runs once more. */
export function runBackgroundService(context: Context, name: string): Promise<BackgroundService> {
  context.wake(nameOf(context, name));
  return getBackgroundService(context, name);
}

/** Those of these that have run. */
export async function findBackgroundServices(
  { db }: Context,
  names: readonly string[],
): Promise<Versioned<BackgroundService>[]> {
  const leases = (await listLeases(db)).filter(({ name }) => names.includes(name));
  return leases.map((lease) => ({
    id: lease.name,
    version: Number(lease.token),
    shownTo: () => serviceOf(lease.name, lease),
  }));
}

function nameOf({ serviceNames }: Context, text: string): ServiceName {
  const known = serviceNames.find((name) => name === text);
  if (known !== undefined) return known;
  throw new SkerryError("service_not_found", `There is no background service ${quoted(text)}.`, {
    remediation: "`GET /v1/background-services` lists them.",
  });
}

function serviceOf(name: string, lease: Lease | undefined): BackgroundService {
  return {
    name,
    status: lease?.running === true ? "running" : "waiting",
    due_at: lease?.due_at.toISOString() ?? null,
    last_run: lease === undefined ? null : lastRunOf(lease),
  };
}

function lastRunOf({ last_run, last_run_at }: Lease): BackgroundService["last_run"] {
  if (last_run === null || last_run_at === null) return null;
  const { duration_ms, error, examined = null, changed = null, failed = null } = last_run;
  const outcome = error === undefined ? "success" : "failure";
  return { ended_at: last_run_at.toISOString(), duration_ms, outcome, examined, changed, failed };
}
