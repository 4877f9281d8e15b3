// Machines of an app: instances of its groups, and the one that runs a release command.

import { SkerryError } from "@skerry/contract/errors";
import type { MachineCreateRequest } from "@skerry/contract/machines/machine";
import type { Context } from "../context.ts";
import { createOwnedMachine } from "../machines/owned-machines.ts";
import { insertInstance } from "./app-store.ts";
import type { AppWork, RunnableRelease } from "./app-facts.ts";
import { DEPLOYER } from "./app-rows.ts";
import { RELEASE_COMMAND } from "./reconcile-app.ts";

interface Seat {
  readonly group: string;
  readonly number: number;
}

/**
 * Undefined: it runs, or it may be tried again in the next turn, up to the deploy's timeout. What is wrong with
 * the release never can be, and is returned.
 */
export async function startInstance(
  context: Context,
  app: AppWork,
  { release, seat }: { readonly release: RunnableRelease; readonly seat: Seat },
): Promise<SkerryError | undefined> {
  const { group, number } = seat;
  try {
    const { id } = await createOwnedMachine(context, {
      orgId: app.org_id,
      owner: { kind: "app", id: app.id, name: app.name },
      request: machineRequest(app, release, seat),
      service: DEPLOYER,
    });
    const row = { machine_id: id, app_id: app.id, release: release.number, group_name: group, number };
    await insertInstance(context.db, row);
    // Its host is told of the check now, and not in the next turn of VM cleanup.
    context.wake("vm-cleanup");
    return undefined;
  } catch (error) {
    if (error instanceof SkerryError && error.retryAfterS === undefined && error.status < 500) return error;
    context.log.warn({ err: error, app_id: app.id }, "an instance could not be started");
    return undefined;
  }
}

/** It is not started again by itself: another one takes its place, on whichever host. */
function machineRequest(
  app: AppWork,
  { manifest, template, env, secrets, number: release, image_command: own }: RunnableRelease,
  { group, number }: Seat,
): MachineCreateRequest {
  const isJob = group === RELEASE_COMMAND;
  const { command = own ?? undefined, size } = isJob
    ? { command: manifest.release_command }
    : (manifest.processes[group] ?? {});
  const service = manifest.services.find((one) => one.group === group);
  return {
    ...{ template, name: `${app.name}/${group}.${number}` },
    env: { ...(service === undefined ? {} : { PORT: String(service.port) }), ...env },
    secrets: secrets.map(({ name, as }) => ({ name, ...(as !== undefined && { as }) })),
    metadata: { app: app.name, group, release: String(release) },
    restart: { policy: "no" },
    ...(command !== undefined && { command }),
    ...(size !== undefined && { size }),
    ...(service !== undefined && { check: service.check }),
  };
}

/** The number in the name of a machine that runs a release command; undefined: it is another one. */
export function releaseOfJob(name: string): number | undefined {
  const [, number] = /\/release_command\.(\d+)$/.exec(name) ?? [];
  return number === undefined ? undefined : Number(number);
}
