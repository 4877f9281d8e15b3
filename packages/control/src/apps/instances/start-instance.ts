// Machines of an app: instances of its groups, and the one that runs a release command.

import { SkerryError } from "@skerry/contract/errors";
import type { MachineCreateRequest } from "@skerry/contract/machines/machine";
import type { Context } from "../../context.ts";
import { createOwnedMachine } from "../../machines/owned-machines.ts";
import { type AppRow } from "../app-store.ts";
import { insertInstance } from "./instance-store.ts";
import { ownSecretNames } from "../app-secrets.ts";
import type { AppWork, RunnableRelease } from "../app-facts.ts";
import { DEPLOYER } from "../app-rows.ts";
import { ONE_OFF, RELEASE_COMMAND } from "../reconcile-facts.ts";

interface Starting {
  readonly release: RunnableRelease;
  readonly seat: Seat;
  /** Instances of the group that are started at the same moment, before it. */
  readonly ahead?: number;
}

interface Seat {
  readonly group: string;
  readonly number: number;
}

/**
 * `waits`: it may be tried again in the next turn, up to the deploy's timeout. What is wrong with the release
 * never can be, and is returned.
 */
export async function startInstance(
  context: Context,
  app: AppWork,
  { release, seat, ahead = 0 }: Starting,
): Promise<"started" | "waits" | SkerryError> {
  const { group, number } = seat;
  try {
    const { id } = await createOwnedMachine(context, {
      orgId: app.org_id,
      owner: { kind: "app", id: app.id, name: app.name },
      request: machineRequest(app, release, {
        seat,
        own: await ownSecretNames(context, { orgId: app.org_id }, app.id),
      }),
      apart: { hosts: hostsOfGroup(app, group), ahead },
      service: DEPLOYER,
    });
    const row = { machine_id: id, app_id: app.id, release: release.number, group_name: group, number };
    await insertInstance(context.db, row);
    // Its host is told of the check now, and not in the next turn of VM cleanup.
    context.wake("vm-cleanup");
    return "started";
  } catch (error) {
    if (error instanceof SkerryError && error.retryAfterS === undefined && error.status < 500) return error;
    context.log.warn({ err: error, app_id: app.id }, "an instance could not be started");
    return "waits";
  }
}

function hostsOfGroup({ instances }: AppWork, group: string): string[] {
  return instances.flatMap((one) => (one.group_name === group ? (one.host_id ?? []) : []));
}

/** After which a microVM for commands by hand ends, where its client is gone. */
const ONE_OFF_IDLE = "10m";

/**
 * It is not started again by itself: another one takes its place, on whichever host. `own`: secrets of the app
 * alone that there are; those that are deleted keep no instance from starting.
 */
export function machineRequest(
  app: Pick<AppRow, "name">,
  { manifest, template, env, secrets: given, number: release, image_command: ofImage }: RunnableRelease,
  { seat: { group, number }, own }: { readonly seat: Seat; readonly own: readonly string[] },
): MachineCreateRequest {
  const isOneOff = group === ONE_OFF;
  const { command = isOneOff ? undefined : (ofImage ?? undefined), size } =
    group === RELEASE_COMMAND ? { command: manifest.release_command } : (manifest.processes[group] ?? {});
  const secrets = given.filter((one) => one.own !== true || own.includes(one.name));
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
    ...(isOneOff && { stop_after_idle: ONE_OFF_IDLE }),
  };
}

/** Seat of a machine that is no instance of a group, by its name; undefined: it is one. */
export function jobOf(name: string): Seat | undefined {
  const [, group, number] = /\/(\w+)\.(\d+)$/.exec(name) ?? [];
  return group === RELEASE_COMMAND || group === ONE_OFF ? { group, number: Number(number) } : undefined;
}
