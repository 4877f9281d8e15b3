// The end of a VM that its owner asks for. The request is stored by one compare-and-set; the host is told at
// once, and again by VM cleanup until it agrees.

import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../context.ts";
import { retryOnConflict } from "../db/retry-on-conflict.ts";
import { leaveToCleanup, type Tried } from "./postpone.ts";
import type { VmKind } from "./vm-kind.ts";

interface Ending<Row> {
  readonly kind: Pick<VmKind, "noun" | "table">;
  readonly get: () => Promise<Row>;
  /** Undefined where another writer was first. */
  readonly mark: (row: Row) => Promise<Row | undefined>;
  /** Has the host confirm, and says so in the row. */
  readonly finish: (row: Row) => Promise<void>;
}

/** Destroys from every status; a second time, or after the end, it does nothing. */
export async function destroyByRequest<Row extends Tried>(
  context: Context,
  { kind, get, mark, finish }: Ending<Row>,
): Promise<void> {
  const row = await retryOnConflict(
    async () => {
      const now = await get();
      return now.status === "destroying" || now.status === "destroyed" ? now : mark(now);
    },
    () => new SkerryError("internal", `The ${kind.noun} changed too often to be destroyed.`),
  );
  if (row.status === "destroyed") return;
  const markedMs = performance.now();
  await finish(row).catch(async (error: unknown) => {
    await leaveToCleanup(context, row, error);
    // It may still run; but a caller that hears that it is destroyed can rely on it that no replica leads a
    // call into it.
    return context.vmLocations.allLapsed(markedMs);
  });
}
