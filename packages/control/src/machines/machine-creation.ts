// POST /v1/machines from the request to a machine that runs.

import type { Machine, MachineCreateRequest } from "@skerry/contract/machines/machine";
import { timed } from "../metrics/timed.ts";
import { findMachine, insertMachine, type MachineRow } from "./machine-store.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Attempt, Creation, Outcome } from "../idempotency/create-once.ts";
import { bringUp } from "./start-machine.ts";
import { readMachineParams, type MachineParams } from "./machine-params.ts";
import { machineOf } from "./machines.ts";
import { mayReadEnv } from "../vms/env.ts";
import type { RequestTiming } from "../http/request-timing.ts";
import { newVm } from "../vms/creation/new-vm.ts";
import { reserve, type PlacementRequest } from "../capacity/reservation.ts";

/** Its answer comes when the machine is running: the next call into it does not fail for not being ready. */
export function machineCreation(
  context: Context,
  caller: Caller,
  { request, timing }: { readonly request: MachineCreateRequest; readonly timing: RequestTiming },
): Creation<Machine> {
  return {
    create: async (attempt) => machineOf(await createMachine(context, { caller, request, timing }, attempt)),
    outcome: (id) => outcomeOf(context, caller, id),
    // What is kept for a day has no values. They are those of the request: one with another body has another answer.
    shown: (answer) => (mayReadEnv(caller, "machines") ? { ...answer, env: request.env ?? {} } : answer),
  };
}

interface NewMachineRequest {
  readonly caller: Caller;
  readonly request: MachineCreateRequest;
  readonly timing: RequestTiming;
}

async function createMachine(
  context: Context,
  { caller, request, timing }: NewMachineRequest,
  attempt: Attempt,
): Promise<MachineRow> {
  const params = readMachineParams(request);
  return timed(context.metrics.machineStart, async () => {
    const { row, address } = await timing.measure("place", () =>
      reserve(context, placementRequest(caller, params), async (transaction, found) => {
        const vm = newVm("machine", caller, params, found);
        const [written] = await Promise.all([
          insertMachine(transaction, {
            ...vm,
            command: params.command,
            stop_timeout_ms: params.stopTimeoutMs,
            restart_policy: params.restart.policy,
            restart_max_retries: params.restart.maxRetries,
            restart_disk: params.restart.disk,
          }),
          attempt.begun(transaction, vm.id),
        ]);
        return written;
      }),
    );
    return bringUp(context, row, { address, disk: "new", reason: null, timing });
  });
}

function placementRequest({ orgId }: Caller, { template, size }: MachineParams): PlacementRequest {
  return { orgId, template, size, quotas: ({ disk_gib }) => ({ machines: 1, disk_gib }) };
}

/** The outcome of a creation that was not answered. One that died in the middle is `creating` until VM cleanup fails it. */
async function outcomeOf(context: Context, caller: Caller, id: string): Promise<Outcome<Machine>> {
  const row = await findMachine(context.db, caller.orgId, id);
  if (row === undefined) return { kind: "nothing" };
  if (row.status === "creating") {
    // Only a hint, so our clock will do: who waits for VM cleanup should not wait for its turn.
    if (row.claimed_until !== null && row.claimed_until.getTime() < Date.now()) context.wake("vm-cleanup");
    return { kind: "pending" };
  }
  return row.started_at === null ? { kind: "nothing" } : { kind: "ready", answer: machineOf(row) };
}
