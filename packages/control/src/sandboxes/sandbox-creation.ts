// POST /v1/sandboxes from the request to a running microVM. The row is written first, so a failure after it
// leaves nothing half done: this request finishes the sandbox, or the reconciler does once this request's claim on the row has lapsed.

import { SkerryError } from "@skerry/contract/errors";
import type { VmOwner } from "@skerry/contract/vms/owner";
import type { Sandbox, SandboxCreateRequest } from "@skerry/contract/sandboxes/sandbox";
import { timed } from "../metrics/timed.ts";
import { findSandbox, insertSandbox, transitionSandbox, type SandboxRow } from "./sandbox-store.ts";
import type { RequestTiming } from "../http/request-timing.ts";
import { keepVmClaim } from "../vms/vm-claims.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Attempt, Creation, Outcome } from "../idempotency/create-once.ts";
import { mayReadEnv } from "../vms/env.ts";
import { newVm, type NewVmPlace } from "../vms/creation/new-vm.ts";
import type { Queries } from "../db/database.ts";
import type { BuiltInTemplate } from "@skerry/contract/templates/template";
import { sandboxQuotas } from "./sandbox-quotas.ts";
import { holdFrozenMemory } from "../capacity/build-quota.ts";
import { reserve, type Reservation } from "../capacity/reservation.ts";
import { reserveAtSnapshot } from "../snapshots/snapshot-room.ts";
import { fromOf } from "../snapshots/vm-origin.ts";
import { readSandboxParams, type SandboxParams } from "./sandbox-params.ts";
import { sandboxOf } from "./sandboxes.ts";
import { tellReaper } from "./tell-reaper.ts";
import { secretsOfNew } from "../vms/creation/vm-secrets.ts";
import { vmSpecOf } from "../vms/creation/vm-specs.ts";

/** Its answer comes when the sandbox is running: the next call into it does not fail for not being ready. */
export function sandboxCreation(
  context: Context,
  caller: Caller,
  asked: Omit<NewSandboxRequest, "caller">,
): Creation<Sandbox> {
  // So that it is there when the request has claimed its key.
  context.hostCapacity.prefetch();
  return {
    create: async (attempt) => sandboxOf(await createSandbox(context, { caller, ...asked }, attempt)),
    outcome: (id) => outcomeOf(context, caller, id),
    // What is kept for a day has no values. They are those of the request: one with another body has another answer.
    shown: (answer) =>
      mayReadEnv(caller, "sandboxes") ? { ...answer, env: asked.request.env ?? {} } : answer,
  };
}

interface NewSandboxRequest {
  readonly caller: Caller;
  readonly request: SandboxCreateRequest;
  readonly timing: RequestTiming;
  /** The resource that it is made for. */
  readonly owner?: VmOwner;
  /** Writes what belongs to the sandbox in the transaction that writes its row. */
  readonly writeMore?: (transaction: Queries, id: string) => Promise<void>;
}

async function createSandbox(
  context: Context,
  { caller, request, timing, owner, writeMore }: NewSandboxRequest,
  attempt: Attempt,
): Promise<SandboxRow> {
  const params = await readSandboxParams(context, caller, request);
  return timed(context.metrics.sandboxCreation, async () => {
    const { row, address } = await timing.measure("place", () =>
      takeRoom(context, { caller, params: { ...params, owner: owner ?? null }, attempt, writeMore }),
    );
    using _claim = keepVmClaim(context, row);
    const { origin, given } = params;
    return await start(context, row, { address, attempt, timing, origin, secrets: given.values });
  });
}

interface Placing {
  readonly caller: Caller;
  readonly params: SandboxParams & { readonly owner: VmOwner | null };
  readonly attempt: Attempt;
  readonly writeMore: NewSandboxRequest["writeMore"];
}

/** Anywhere for a template, where its files are or can go for a snapshot. */
async function takeRoom(
  context: Context,
  { caller, params, attempt, writeMore }: Placing,
): Promise<Reservation<SandboxRow>> {
  const { mode, origin, size } = params;
  const { orgId } = caller;
  const write = async (transaction: Queries, place: NewVmPlace, snapshotId: string | null) => {
    const vm = newVm(
      "sandbox",
      caller,
      {
        ...params,
        secrets: secretsOfNew(params.given, origin.kind === "snapshot" ? origin.snapshot : undefined),
      },
      place,
    );
    const [written] = await Promise.all([
      insertSandbox(transaction, {
        ...{ ...vm, mode, timeout_ms: params.timeoutMs, snapshot_id: snapshotId },
        pause_after_idle_ms: params.pauseAfterIdleMs,
        auto_resume: params.autoResume,
      }),
      attempt.begun(transaction, vm.id),
      writeMore?.(transaction, vm.id),
    ]);
    return written;
  };
  if (origin.kind === "template") {
    const quotas = ({ disk_gib }: BuiltInTemplate) => sandboxQuotas({ mode, diskGib: disk_gib, size });
    const placement = { orgId, template: origin.template, size, quotas };
    return reserve(context, placement, async (transaction, found) => {
      if (found.own !== undefined)
        await holdFrozenMemory(context, transaction, { template: found.own, size });
      return write(transaction, found, null);
    });
  }
  const { snapshot } = origin;
  const { id, template, disk_gib } = snapshot;
  const room = { orgId, snapshot, size, quotas: sandboxQuotas({ mode, diskGib: disk_gib, size }) };
  return reserveAtSnapshot(context, room, (transaction, found) =>
    write(transaction, { ...found, template: { name: template, disk_gib } }, id),
  );
}

interface Begun {
  readonly address: string;
  readonly attempt: Attempt;
  readonly timing: RequestTiming;
  readonly origin: SandboxParams["origin"];
  readonly secrets: Readonly<Record<string, string>>;
}

async function start(
  context: Context,
  row: SandboxRow,
  { address, attempt, timing, origin, secrets }: Begun,
): Promise<SandboxRow> {
  const client = context.hosts.client(address);
  try {
    const spec = { ...(await vmSpecOf(context, row, secrets)), ...fromOf(origin) };
    await timing.measureStart((onTiming) => client.startVm(row.id, spec, { onTiming }));
  } catch (error) {
    await release(context, row, address);
    const reason = error instanceof SkerryError ? error.message : "internal error";
    await transitionSandbox(context.db, row, "failed", { reason: `could not start: ${reason}` });
    throw error;
  }
  const askedMs = performance.now();
  const running = await transitionSandbox(context.db, row, "running", {
    // Made now: the log is in the order in which things came true.
    event: attempt.ready(row),
    egressVersion: row.egress_version,
  });
  if (running !== undefined) {
    context.vmLocations.keep({ ...running, address, left_ms: running.timeout_ms }, askedMs);
    tellReaper(context, running.timeout_ms);
    return running;
  }
  // It was destroyed, or this request was so slow that the reconciler took it for dead.
  await release(context, row, address);
  throw new SkerryError("sandbox_not_running", "The sandbox was destroyed while it was being created.", {
    context: { sandbox_id: row.id },
  });
}

/** What this attempt took on the host. Where the host does not answer, the reconciler finds a VM without a row later. */
async function release(context: Context, row: SandboxRow, address: string): Promise<void> {
  await context.hosts
    .client(address)
    .destroyVm(row)
    .catch((error: unknown) => {
      context.log.warn({ err: error, sandbox_id: row.id }, "could not give a sandbox back to its host");
      context.wake("vm-cleanup");
    });
}

/** The outcome of a creation that was not answered. One that died in the middle is `creating` until the reconciler fails it. */
async function outcomeOf(context: Context, caller: Caller, id: string): Promise<Outcome<Sandbox>> {
  const row = await findSandbox(context.db, caller.orgId, id);
  if (row === undefined) return { kind: "nothing" };
  if (row.status === "creating") {
    // Only a hint, so our clock will do: who waits for the reconciler should not wait for its turn.
    if (row.claimed_until !== null && row.claimed_until.getTime() < Date.now()) context.wake("vm-cleanup");
    return { kind: "pending" };
  }
  return row.started_at === null ? { kind: "nothing" } : { kind: "ready", answer: sandboxOf(row) };
}
