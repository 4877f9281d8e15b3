// Why an instance is not well. Pure.

import type { EdgeState } from "@skerry/contract/host-api/edge";
import type { StoredHealth } from "../../db/tables/machine-tables.ts";
import type { InstanceRow } from "../instances/instance-store.ts";

/** Looks in a row that found an instance unwell, after which another one takes its place. */
export const UNWELL_AT = 3;

export interface Looked extends Pick<InstanceRow, "machine_id" | "state" | "fault"> {
  readonly host_id: string | null;
  readonly execution_id: string | null;
  readonly health: StoredHealth | null;
  readonly check_version: number | null;
  readonly has_service: boolean;
}

export interface Found {
  /** Undefined: it is well, as far as is known. */
  readonly fault: string | undefined;
  /** It is the instance's own fault, which another one would not have. */
  readonly counts: boolean;
}

/** @param edge - Answer of the proxy on its host; undefined: there is none. */
export function faultOf(one: Looked, edge: EdgeState | undefined): Found {
  const check = checkFault(one);
  if (check !== undefined) return { fault: check, counts: true };
  if (one.state !== "serving" || !one.has_service) return { fault: undefined, counts: false };
  if (edge === undefined) return { fault: "its host does not answer", counts: false };
  if (edge.fault !== null) return { fault: `its host does not serve apps: ${edge.fault}`, counts: false };
  const seats = edge.instances.filter(
    ({ vm, execution_id }) => vm === one.machine_id && execution_id === one.execution_id,
  );
  if (seats.some(({ status }) => status === "serving")) return { fault: undefined, counts: false };
  return seats.length === 0
    ? { fault: "the proxy on its host does not know it", counts: true }
    : { fault: "the proxy on its host gives it no requests", counts: true };
}

function checkFault({ health, execution_id, check_version }: Looked): string | undefined {
  const isOfNow = health?.execution_id === execution_id && health.version === check_version;
  return isOfNow && health?.status === "failing"
    ? `its check fails: ${health.reason ?? "no reason is known"}`
    : undefined;
}
