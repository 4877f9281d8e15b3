// What the steps of a move do, which depends on what moves. Each can be taken again, by another replica.

import type { ArrivalNeeds } from "@skerry/contract/host-api/move-calls";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import type { HostClient } from "../host-client/host-client.ts";
import type { MoveRow } from "./move-store.ts";

/** Undefined: the host has been removed and is not asked any more. */
export interface Ends {
  readonly source: HostClient | undefined;
  readonly target: HostClient | undefined;
  /** Where the source reaches the target. */
  readonly targetAddress: string | undefined;
}

export interface BothEnds {
  readonly source: HostClient;
  readonly target: HostClient;
}

export interface SendingEnds extends BothEnds {
  readonly targetAddress: string;
  /** Those that the target lacks. */
  readonly layers: ArrivalNeeds["layers"];
}

export interface MoveSteps {
  readonly resource: "sandbox" | "machine" | "snapshot";
  /** The target makes ready for what the source describes. */
  readonly prepare: (
    context: Context,
    move: MoveRow,
    ends: BothEnds,
    stop: AbortSignal,
  ) => Promise<ArrivalNeeds>;
  /** Resolves, with what is worth a line in the log, when the target has all of it. */
  readonly send: (move: MoveRow, ends: SendingEnds, stop: AbortSignal) => Promise<object>;
  /** The decision: from here on it is the target's. Undefined where it is not at its source as it was any more, or where the target is lost or
   *  removed; no other transaction can change that before this one ends. */
  readonly switchHost: (
    transaction: Queries,
    move: MoveRow,
  ) => Promise<{ readonly id: string; readonly org_id: string } | undefined>;
  /** After the decision: it is used at the target, and the source keeps nothing. */
  readonly goOn: (context: Context, move: MoveRow, ends: Ends, stop: AbortSignal) => Promise<void>;
  /** Instead of the decision: it is used at the source, and the target keeps nothing. */
  readonly stay: (context: Context, move: MoveRow, ends: Ends, stop: AbortSignal) => Promise<void>;
}
