// Who keeps the servers of this installation running, and which processes they are.

import type { Layout } from "../system/layout.ts";
import { isAlive, type ProcessIdentity } from "../system/processes.ts";
import { readSupervisorState, type ServiceName } from "./supervisor-state.ts";
import { isUnitActive, processOfUnit, runByUnits, units } from "./units.ts";

export interface RunningServices {
  readonly keeper: "supervisor" | "systemd";
  readonly isKept: boolean;
  /** Of the supervisor; systemd is known by its units. */
  readonly process: ProcessIdentity | undefined;
  readonly services: { readonly [Name in ServiceName]?: ProcessIdentity | undefined };
}

export async function runningServices(layout: Layout): Promise<RunningServices> {
  if (await runByUnits(layout)) {
    const [isKept, control, host] = await Promise.all([
      isUnitActive(units.target),
      processOfUnit("control"),
      processOfUnit("host"),
    ]);
    return { keeper: "systemd", isKept, process: undefined, services: { control, host } };
  }
  const state = await readSupervisorState(layout);
  const isKept = state !== undefined && (await isAlive(state.supervisor));
  return { keeper: "supervisor", isKept, process: state?.supervisor, services: state?.services ?? {} };
}
