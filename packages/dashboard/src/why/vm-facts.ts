// What is known about a sandbox or a machine beside its own row. Pure.

import type { Host, Move, VmEvent } from "@skerry/sdk";
import type { VmEventKind } from "@skerry/contract/vms/events";
import { moveStatusesUnderWay } from "@skerry/contract/moves/move-status";
import { shortId } from "../ui/text.ts";
import { ago, type Act, type CommonFacts } from "./because.ts";

export interface VmFacts extends CommonFacts {
  readonly host: Host | null;
  /** Its newest one. */
  readonly move: Move | null;
  /** Newest first. */
  readonly events: readonly VmEvent[];
  /** The last thing that was asked for and led to its status. */
  readonly act: Act;
}

/** Something takes longer than it does when all is well. */
export const LONG_MS = 15_000;

export function lastOf({ events }: VmFacts, ...kinds: readonly VmEventKind[]): VmEvent | undefined {
  return events.find(({ kind }) => kinds.includes(kind));
}

/** `, 5 min ago: its timeout was over`; empty where the log does not know it. */
export function told(event: VmEvent | undefined, facts: VmFacts): string {
  if (event === undefined) return "";
  return `, ${ago(event.last_at, facts)}${event.reason === null ? "" : `: ${event.reason}`}`;
}

/** A sentence with its space, while it changes hosts. */
export function travelNote({ move }: VmFacts): string {
  const isUnderWay = move !== null && (moveStatusesUnderWay as readonly string[]).includes(move.status);
  return isUnderWay ? ` It is on its way to another host, ${shortId(move.to_host_id)}.` : "";
}

export function hasRunOutOfMemory(facts: VmFacts): boolean {
  return lastOf(facts, "out_of_memory") !== undefined;
}

export const onHost = ({ host }: VmFacts): string => (host === null ? "" : ` on ${host.name}`);
