// A paused sandbox goes on, as a new incarnation on the host that has its files. One replica does it: the change of the row from `paused` is a
// compare-and-set, and all others wait for what comes of it.

import { newIdAfter } from "@skerry/contract/ids";
import { SkerryError } from "@skerry/contract/errors";
import type { NewAuditEvent } from "../audit/insert-audit-events.ts";
import { reserveOn } from "../capacity/host-reservation.ts";
import { unlessOvertaken } from "../capacity/unless-overtaken.ts";
import type { Tenant } from "../caller.ts";
import type { Context } from "../context.ts";
import { retryOnConflict } from "../db/retry-on-conflict.ts";
import { readSize } from "../values/sizes.ts";
import { vmSpecOf } from "../vms/creation/vm-specs.ts";
import { isAnswer } from "../vms/is-answer.ts";
import { dropClaim, keepVmClaim } from "../vms/vm-claims.ts";
import { takesWork } from "../vms/vm-kind.ts";
import { adoptSandbox, findSandboxVersion } from "./adoption-store.ts";
import { findSandbox, keepSandboxAlive, transitionSandbox, type SandboxRow } from "./sandbox-store.ts";
import { settledSandbox } from "./settled-sandbox.ts";
import { tellReaper } from "./tell-reaper.ts";
import { ended, expired, notRunning } from "./sandboxes.ts";

interface ResumeParams {
  readonly id: string;
  /** In words, for the events of its life. */
  readonly why: string;
  /** For the audit log, where the call is not one for a resume: written with the change, if there is one. */
  readonly event?: NewAuditEvent | undefined;
  /** By a call into it: one that only a request for it resumes stays paused. */
  readonly isByCall?: boolean;
}

/** Resolves when it runs; at once where it does already. Without room it stays paused. The time of one that was to be paused begins anew as well. */
export function resumeSandbox(
  context: Context,
  caller: Tenant,
  { id, why, event, isByCall = false }: ResumeParams,
): Promise<SandboxRow> {
  return retryOnConflict(
    async () => {
      const row = await settledSandbox(context, caller, id);
      if (takesWork(row)) return row;
      const isLeft = isByCall && !row.auto_resume;
      if (isLeft && row.status === "running") throw expired(row);
      if (row.status === "running" && row.mode === "persistent")
        return keepSandboxAlive(context.db, { orgId: caller.orgId, id, timeoutMs: row.timeout_ms });
      if (row.status !== "paused" || isLeft) throw notRunning(row);
      return resume(context, row, { why, event });
    },
    () =>
      new SkerryError("vm_moving", "The sandbox is on its way to another host.", {
        remediation: "Try again in a few seconds.",
        retryAfterS: 2,
      }),
  );
}

/** Undefined where another writer was first. */
async function resume(
  context: Context,
  row: SandboxRow,
  { why, event }: Pick<ResumeParams, "why" | "event">,
): Promise<SandboxRow | undefined> {
  const room = { orgId: row.org_id, hostId: row.host_id, size: readSize(row.size) };
  const reserved = await unlessOvertaken(
    reserveOn(context, room, (transaction) =>
      transitionSandbox(transaction, row, "resuming", { next: { kind: "resumed", reason: why } }),
    ),
    async () => (await findSandboxVersion(context.db, row)) !== undefined,
  );
  if (reserved?.row === undefined) return undefined;
  const { row: resuming, address } = reserved;
  using _claim = keepVmClaim(context, resuming);
  const life = { id: row.id, execution_id: newIdAfter("incarnation", row.execution_id) };
  const client = context.hosts.client(address);
  try {
    const spec = await vmSpecOf(context, { ...resuming, ...life });
    await client.startVm(row.id, {
      ...spec,
      from: { kind: "paused", ...(resuming.reboots && { reboot: true }) },
    });
  } catch (error) {
    throw await putBack(context, resuming, error);
  }
  const askedMs = performance.now();
  const running = await transitionSandbox(context.db, resuming, "running", {
    egressVersion: resuming.egress_version,
    executionId: life.execution_id,
    event,
  });
  if (running !== undefined) {
    context.vmLocations.keep({ ...running, address, left_ms: running.timeout_ms }, askedMs);
    tellReaper(context, running.timeout_ms);
    return running;
  }
  return overtaken(context, resuming, { life, release: () => client.destroyVm(life) });
}

/** It is still paused on its host, unless the host has not said so: then VM cleanup asks. */
async function putBack(context: Context, resuming: SandboxRow, error: unknown): Promise<unknown> {
  const isLost = error instanceof SkerryError && error.code === "vm_not_found";
  if (isAnswer(error) && !isLost) {
    await transitionSandbox(context.db, resuming, "paused", {
      next: { kind: "resume_failed", reason: error.message },
    });
    return error;
  }
  await dropClaim(context.db, resuming);
  context.wake("vm-cleanup");
  return isLost ? ended(error) : error;
}

interface Overtaken {
  /** What runs now. */
  readonly life: { readonly execution_id: string };
  readonly release: () => Promise<void>;
}

/** It was destroyed meanwhile, or this replica was so slow that it was taken for dead, and the row put back. */
async function overtaken(
  context: Context,
  { id, org_id }: SandboxRow,
  { life, release }: Overtaken,
): Promise<SandboxRow | undefined> {
  const now = await findSandbox(context.db, org_id, id);
  context.wake("vm-cleanup");
  // On its way to a snapshot it needs this life no more.
  if (now?.status === "paused" || (now?.status === "resuming" && now.rollback === null))
    return adoptSandbox(context.db, now, { status: "running", execution_id: life.execution_id });
  if (now === undefined || ["failed", "destroying", "destroyed"].includes(now.status)) {
    await release().catch((error: unknown) => {
      context.log.warn({ err: error, sandbox_id: id }, "could not give a sandbox back to its host");
    });
  }
  return undefined;
}
