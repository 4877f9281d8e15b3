// POST /v1/machines from the request to a machine that runs.

import type { VmOwner } from "@skerry/contract/vms/owner";
import type { Machine, MachineCreateRequest } from "@skerry/contract/machines/machine";
import type { BuiltInTemplate } from "@skerry/contract/templates/template";
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
import { reserve, type Apart, type Reservation } from "../capacity/reservation.ts";
import type { Queries } from "../db/database.ts";
import { reserveAtSnapshot } from "../snapshots/snapshot-room.ts";
import { fromOf } from "../snapshots/vm-origin.ts";
import { newVm, type NewVmPlace } from "../vms/creation/new-vm.ts";
import { secretsOfNew } from "../vms/creation/vm-secrets.ts";

/** Its answer comes when the machine is running: the next call into it does not fail for not being ready. */
export function machineCreation(
  context: Context,
  caller: Caller,
  asked: Omit<NewMachineRequest, "caller">,
): Creation<Machine> {
  return {
    create: async (attempt) => machineOf(await createMachine(context, { caller, ...asked }, attempt)),
    outcome: (id) => outcomeOf(context, caller, id),
    // What is kept for a day has no values. They are those of the request: one with another body has another answer.
    shown: (answer) =>
      mayReadEnv(caller, "machines") ? { ...answer, env: asked.request.env ?? {} } : answer,
  };
}

export interface NewMachineRequest {
  readonly caller: Caller;
  readonly request: MachineCreateRequest;
  readonly timing: Pick<RequestTiming, "measure" | "measureStart">;
  /** The resource that it is made for. */
  readonly owner?: VmOwner;
  /** Others that do the same: it is placed apart from them. */
  readonly apart?: Apart;
  /**
   * Writes what its owner has of it, in the transaction that writes the machine. Where it throws there is
   * none.
   */
  readonly beside?: Beside;
}

type Beside = (transaction: Queries, machineId: string) => Promise<void>;

export async function createMachine(
  context: Context,
  { caller, request, timing, owner, apart, beside }: NewMachineRequest,
  attempt: Attempt,
): Promise<MachineRow> {
  const params = await readMachineParams(context, caller, { request, owner });
  return timed(context.metrics.machineStart, async () => {
    const { row, address } = await timing.measure("place", () =>
      takeRoom(context, { caller, params: { ...params, owner: owner ?? null }, apart, attempt, beside }),
    );
    const from = fromOf(params.origin);
    return bringUp(context, row, { address, disk: "new", reason: null, timing, ...from });
  });
}

interface Placing {
  readonly caller: Caller;
  readonly params: MachineParams & { readonly owner: VmOwner | null };
  readonly apart: Apart | undefined;
  readonly attempt: Attempt;
  readonly beside: Beside | undefined;
}

/** Anywhere for a template, where its files are or can go for a snapshot. */
function takeRoom(
  context: Context,
  { caller, params, apart, attempt, beside }: Placing,
): Promise<Reservation<MachineRow>> {
  const { origin, size } = params;
  const { orgId } = caller;
  const write = async (transaction: Queries, place: NewVmPlace, snapshotId: string | null) => {
    const vm = newVm(
      "machine",
      caller,
      {
        ...params,
        secrets: secretsOfNew(params.given, origin.kind === "snapshot" ? origin.snapshot : undefined),
      },
      place,
    );
    const [written] = await Promise.all([
      insertMachine(transaction, {
        ...vm,
        command: params.command,
        stop_timeout_ms: params.stopTimeoutMs,
        health_check: params.check,
        stop_after_idle_ms: params.stopAfterIdleMs,
        autostart: params.autostart,
        restart_policy: params.restart.policy,
        restart_max_retries: params.restart.maxRetries,
        restart_disk: params.restart.disk,
        snapshot_id: snapshotId,
      }),
      attempt.begun(transaction, vm.id),
      beside?.(transaction, vm.id),
    ]);
    return written;
  };
  if (origin.kind === "template") {
    const quotas = ({ disk_gib }: BuiltInTemplate) => ({ machines: 1, disk_gib });
    const placement = { orgId, template: origin.template, size, quotas, ...(apart && { apart }) };
    return reserve(context, placement, (transaction, found) => write(transaction, found, null));
  }
  const { snapshot } = origin;
  const { id, template, disk_gib } = snapshot;
  const room = { orgId, snapshot, size, quotas: { machines: 1, disk_gib } };
  return reserveAtSnapshot(context, room, (transaction, found) =>
    write(transaction, { ...found, template: { name: template, disk_gib } }, id),
  );
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
