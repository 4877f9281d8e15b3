// Health checks of machines between rows and hosts. The host runs the check and says only when its state has
// changed, by `ended` in what the heartbeat reads; VM cleanup then reads the states of that host's checks.

import type { Context } from "../context.ts";
import type { HostClient } from "../host-client/host-client.ts";
import { hostCheckOf } from "../values/health-checks.ts";
import { clientOf } from "../vms/vm-kind.ts";
import type { MachineRow } from "./machine-store.ts";

type Checked = Pick<
  MachineRow,
  "id" | "status" | "execution_id" | "host_id" | "check_version" | "health_check"
>;

/** Tells the host at once of the check of a machine that runs. Where that fails, VM cleanup does so. */
export async function bringCheck(context: Context, row: Checked): Promise<void> {
  if (row.status !== "running" || row.check_version === 0) return;
  try {
    await tellHost(await clientOf(context, row), row);
  } catch (error) {
    context.log.debug({ err: error, machine_id: row.id }, "a health check has not reached its host");
    context.wake("vm-cleanup");
  }
}

export function tellHost(
  client: HostClient,
  row: Omit<Checked, "status">,
  stop?: AbortSignal,
): Promise<void> {
  const { id, execution_id, check_version: version, health_check: check } = row;
  const change = { execution_id, version, ...(check === null ? {} : { check: hostCheckOf(check) }) };
  return client.checks.set(id, change, stop);
}
