// The health of a machine from its row and from what its host says of its check. Pure.

import type { Health } from "@skerry/contract/checks/health-check";
import type { CheckState } from "@skerry/contract/host-api/checks";
import type { StoredHealth } from "../db/tables/machine-tables.ts";
import type { MachineFact } from "./machine-facts.ts";
import type { MachineRow } from "./machine-store.ts";

type Shown = Pick<
  MachineRow,
  "status" | "status_since" | "execution_id" | "check_version" | "health_check" | "health"
>;

/** Null: it has no check. */
export function healthOf(row: Shown): Health | null {
  if (row.health_check === null) return null;
  const unknown = {
    status: "unknown",
    since: row.status_since.toISOString(),
    last_checked_at: null,
  } as const;
  if (row.status !== "running") return { ...unknown, reason: `the machine is ${row.status}` };
  if (row.health === null || !isOfNow(row, row.health))
    return { ...unknown, reason: "its host has not told of this check yet" };
  const { status, since, reason, last_checked_at } = row.health;
  return { status, since, reason, last_checked_at };
}

/** Whether the host told it of this check in this incarnation. */
function isOfNow(
  row: Pick<MachineRow, "execution_id" | "check_version">,
  told: Pick<StoredHealth, "execution_id" | "version">,
): boolean {
  return told.execution_id === row.execution_id && told.version === row.check_version;
}

export type CheckAction =
  /** Its host does not have the check of its row. */
  | { readonly kind: "bring" }
  /** The row says something else of it than its host. */
  | { readonly kind: "note"; readonly health: StoredHealth }
  /** It is to be stopped and started again, because its check fails. */
  | { readonly kind: "restart"; readonly health: StoredHealth };

/** `states`: all that its host checks. */
export function checkAction(
  row: MachineFact,
  states: ReadonlyMap<string, CheckState>,
): CheckAction | undefined {
  const told = states.get(row.id);
  if (row.health_check === null) return told === undefined ? undefined : { kind: "bring" };
  if (told === undefined || !isOfNow(row, told)) return { kind: "bring" };
  const { id: _, ...health } = told;
  const fails = health.status === "failing" && row.health_check.restart && row.restart_policy !== "no";
  if (fails) return { kind: "restart", health };
  return isNews(row.health, health) ? { kind: "note", health } : undefined;
}

/** The last check's time alone is none. */
function isNews(known: StoredHealth | null, told: StoredHealth): boolean {
  if (known === null) return true;
  const fields = ["execution_id", "version", "status", "since", "reason"] as const;
  return fields.some((field) => known[field] !== told[field]);
}

/** Health of a machine whose host runs a version without checks. */
export function uncheckedHealth(row: MachineFact, now: Date): StoredHealth {
  return {
    execution_id: row.execution_id,
    version: row.check_version,
    status: "unknown",
    since: now.toISOString(),
    reason: "its host runs a version of Skerry that knows no health checks",
    last_checked_at: null,
  };
}

/** Whether the row says so already. */
export function isKnownUnchecked({ health, ...row }: MachineFact): boolean {
  return health !== null && health.status === "unknown" && isOfNow(row, health);
}
