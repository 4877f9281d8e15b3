import { formatDuration } from "@skerry/contract/durations";
import { SkerryError } from "@skerry/contract/errors";
import { isId } from "@skerry/contract/ids";
import { SANDBOX_TIMEOUT_MAX_MS } from "@skerry/contract/bounds";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import {
  sandboxStatuses,
  sandboxStatusesAlive,
  type SandboxStatus,
} from "@skerry/contract/sandboxes/sandbox-status";
import {
  EXPIRED_REASON,
  findSandbox,
  keepSandboxAlive,
  listSandboxes,
  sandboxTable,
  statusesPastSaving,
  statusesWithoutTime,
  type FoundSandbox,
  type SandboxRow,
} from "./sandbox-store.ts";
import { tellReaper } from "./tell-reaper.ts";
import type { WaitsFor } from "@skerry/contract/waits-for";
import { waitsForOf } from "../waits/stored-wait.ts";
import type { Versioned } from "../api/versioned.ts";
import type { Caller, Tenant } from "../caller.ts";
import type { Context } from "../context.ts";
import { readDuration } from "../values/durations.ts";
import type { VmFilter } from "../vms/vm-filter.ts";
import { readVmPage, type CountedPage, type VmListParams } from "../vms/vm-lists.ts";
import { mayReadEnv, withoutValues } from "../vms/env.ts";
import { ownerOf, unlessOwned } from "../vms/owned.ts";
import { vmNotFound } from "../vms/vm-names.ts";

export async function listSandboxesOf(
  context: Context,
  caller: Caller,
  params: VmListParams<SandboxStatus>,
): Promise<CountedPage<Sandbox, SandboxStatus>> {
  const page = await listSandboxRows(context, caller, params);
  return { ...page, items: page.items.map((row) => sandboxFor(caller, row)) };
}

export function listSandboxRows(
  context: Context,
  caller: Caller,
  params: VmListParams<SandboxStatus>,
): Promise<CountedPage<SandboxRow, SandboxStatus>> {
  const kind = {
    ...sandboxTable,
    statuses: sandboxStatuses,
    statusesAlive: sandboxStatusesAlive,
    list: (filter: VmFilter<SandboxStatus>) => listSandboxes(context.db, filter),
  } as const;
  return readVmPage(context, kind, caller, params);
}

export async function getSandbox(context: Context, caller: Tenant, id: string): Promise<FoundSandbox> {
  // No resource has an id of another shape; looking for it would only carry odd bytes into SQL.
  const row = isId("sandbox", id) ? await findSandbox(context.db, caller.orgId, id) : undefined;
  if (row === undefined) throw vmNotFound(sandboxTable, id);
  return row;
}

/** Those of these that there are. */
export async function findSandboxes(
  context: Context,
  orgId: string,
  ids: readonly string[],
): Promise<Versioned<Sandbox>[]> {
  const rows = await Promise.all(ids.map((id) => findSandbox(context.db, orgId, id)));
  return rows.flatMap((row) =>
    row === undefined
      ? []
      : { id: row.id, version: row.version, shownTo: (caller: Caller) => sandboxFor(caller, row) },
  );
}

interface KeepAliveParams {
  readonly id: string;
  /** Default: its own. */
  readonly timeout: string | undefined;
  /** It may then end sooner than it would have ended anyway. Default: it never does. */
  readonly maySooner?: boolean;
}

/** `timeout` from now, at most 24 h. */
export async function keepAlive(
  context: Context,
  caller: Caller,
  { id, timeout, maySooner = false }: KeepAliveParams,
): Promise<Sandbox> {
  const row = unlessOwned(sandboxTable, await getSandbox(context, caller, id));
  const askedMs = timeout === undefined ? row.timeout_ms : readDuration("timeout", timeout);
  const timeoutMs = Math.min(askedMs, SANDBOX_TIMEOUT_MAX_MS);
  const kept = await keepSandboxAlive(context.db, { orgId: caller.orgId, id: row.id, timeoutMs, maySooner });
  // What is known of where it is has its time.
  if (kept !== undefined && maySooner) {
    context.vmLocations.forget(row.id);
    tellReaper(context, timeoutMs);
  }
  if (kept !== undefined) return sandboxFor(caller, kept);
  const lost = await getSandbox(context, caller, row.id);
  if (statusesWithoutTime.includes(lost.status)) throw pausedKeepalive(lost);
  throw statusesPastSaving.includes(lost.status) ? notRunning(lost) : expired(lost);
}

/** With the values of its environment where the caller may see them. */
export function sandboxFor(caller: Caller, row: SandboxRow): Sandbox {
  const sandbox = sandboxOf(row);
  return mayReadEnv(caller, "sandboxes") ? { ...sandbox, env: row.env } : sandbox;
}

/** As anybody who may read it sees it. */
export function sandboxOf(row: SandboxRow): Sandbox {
  return {
    id: row.id,
    name: row.name,
    owner: ownerOf(row),
    template: row.template,
    mode: row.mode,
    size: row.size,
    status: row.status,
    timeout: formatDuration(row.timeout_ms),
    pause_after_idle: row.pause_after_idle_ms === null ? null : formatDuration(row.pause_after_idle_ms),
    auto_resume: row.auto_resume,
    env: withoutValues(row.env),
    secrets: row.secrets ?? [],
    metadata: row.metadata,
    egress: row.egress,
    host_id: row.host_id,
    snapshot_id: row.snapshot_id,
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    expires_at: row.expires_at.toISOString(),
    paused_at: row.paused_at?.toISOString() ?? null,
    destroyed_at: row.destroyed_at?.toISOString() ?? null,
    reason: row.reason,
    waits_for: waitsForOfSandbox(row),
  };
}

function waitsForOfSandbox({ status, status_since, host_id }: SandboxRow): WaitsFor | null {
  const text = hostWaits[status];
  if (text === undefined) return null;
  const since = status_since.toISOString();
  return waitsForOf({ kind: "host", id: host_id, name: null, text, since });
}

const hostWaits: Readonly<Partial<Record<SandboxStatus, string>>> = {
  creating: "which makes its microVM",
  pausing: "which writes its memory",
  resuming: "which brings it back",
  unreachable: "which does not answer, or cannot read its record",
  destroying: "which removes its microVM",
};

export function ended(cause: SkerryError): SkerryError {
  return new SkerryError("sandbox_not_running", "The microVM of the sandbox has ended.", {
    remediation: "Read the sandbox for the reason, and create another one.",
    cause,
  });
}

/** In these it waits for the reaper once its time is over. */
const statusesThatExpire: readonly SandboxStatus[] = ["running", "unreachable"];

export function notRunning(row: FoundSandbox): SkerryError {
  const isOver = row.left_ms <= 0 && row.mode === "ephemeral" && statusesThatExpire.includes(row.status);
  if (isOver || row.reason === EXPIRED_REASON) return expired(row);
  const why = row.reason === null ? "" : ` (${row.reason})`;
  if (row.status === "unreachable") {
    return new SkerryError("host_unavailable", `The sandbox cannot be reached now${why}.`, {
      remediation:
        "Try again: it may come back. It goes on when its host answers, and fails where it does not run there any more.",
      retryAfterS: HOST_RETRY_S,
      context: { status: row.status },
    });
  }
  return new SkerryError("sandbox_not_running", `The sandbox is ${row.status}${why}.`, {
    remediation: remediationOf(row),
    context: { status: row.status },
  });
}

function remediationOf({ status, auto_resume }: SandboxRow): string {
  if (!passing.has(status)) return "Create another sandbox.";
  return auto_resume ? "The next call into the sandbox resumes it." : "Resume the sandbox first.";
}

/** What is asked of it now goes well once it is asked again. One that runs is about to be paused. */
const passing: ReadonlySet<SandboxStatus> = new Set(["running", "pausing", "paused", "resuming"]);

function pausedKeepalive({ status }: SandboxRow): SkerryError {
  return new SkerryError("sandbox_not_running", `The sandbox is ${status}, so no time of it runs.`, {
    remediation: "Resume the sandbox: its time begins anew then.",
    context: { status },
  });
}

const HOST_RETRY_S = 10;

/** Also of one that has another status until the reaper comes. */
export function expired(row: SandboxRow): SkerryError {
  const expiresAt = row.expires_at.toISOString();
  const lastedMs = row.expires_at.getTime() - (row.started_at ?? row.created_at).getTime();
  const why =
    lastedMs > row.timeout_ms
      ? `it was kept alive until ${expiresAt}`
      : `its timeout of ${formatDuration(row.timeout_ms)} is over`;
  return new SkerryError("sandbox_expired", `The sandbox has expired: ${why}.`, {
    remediation:
      row.mode === "persistent"
        ? "Resume the sandbox first."
        : "Create another one with a longer `timeout`, or call `keepalive` on it before its `expires_at`.",
    context: { status: row.status, expires_at: expiresAt },
  });
}
