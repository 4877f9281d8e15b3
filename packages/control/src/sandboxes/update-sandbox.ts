// PATCH of a sandbox: what says nothing about its microVM, so it is in effect when the row says so.

import { isDeepStrictEqual } from "node:util";
import { SkerryError } from "@skerry/contract/errors";
import type { SandboxUpdateRequest } from "@skerry/contract/sandboxes/sandbox";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { retryOnConflict } from "../db/retry-on-conflict.ts";
import { checkMetadata } from "../values/check-metadata.ts";
import { merged } from "../values/merged.ts";
import { tellUpdated } from "../vms/events/tell-updated.ts";
import { unlessOwned } from "../vms/owned.ts";
import { checkVmName } from "../vms/vm-names.ts";
import { readPauseAfterIdle } from "./sandbox-params.ts";
import { sandboxTable, statusesPastSaving, type SandboxRow } from "./sandbox-store.ts";
import { updateSandboxRow, type SandboxUpdate } from "./sandbox-update-store.ts";
import { getSandbox, notRunning } from "./sandboxes.ts";

export function updateSandbox(
  context: Context,
  caller: Caller,
  { id, request }: { readonly id: string; readonly request: SandboxUpdateRequest },
): Promise<SandboxRow> {
  return retryOnConflict(
    async () => {
      const seen = unlessOwned(sandboxTable, await getSandbox(context, caller, id));
      if (statusesPastSaving.includes(seen.status)) throw notRunning(seen);
      const update = changedSandbox(seen, request);
      const changed = fields.filter(([, column]) => !isDeepStrictEqual(seen[column], update[column]));
      if (changed.length === 0) return seen;
      return context.db.transaction().execute(async (transaction) => {
        const row = await updateSandboxRow(transaction, seen, update);
        const what = changed.map(([field]) => field).join(", ");
        if (row !== undefined) await tellUpdated(transaction, row, what);
        return row;
      });
    },
    () => new SkerryError("internal", "The sandbox changed too often."),
  );
}

const fields = [
  ["name", "name"],
  ["metadata", "metadata"],
  ["pause_after_idle", "pause_after_idle_ms"],
  ["auto_resume", "auto_resume"],
] as const satisfies readonly (readonly [string, keyof SandboxUpdate])[];

function changedSandbox(row: SandboxRow, request: SandboxUpdateRequest): SandboxUpdate {
  const { name = row.name, metadata, pause_after_idle: idle, auto_resume = row.auto_resume } = request;
  return {
    // A row older than the rule for names may have one that the rule refuses.
    name: name === null || name === row.name ? name : checkVmName(name),
    metadata: metadata === undefined ? row.metadata : checkMetadata(merged(row.metadata, metadata)),
    pause_after_idle_ms:
      idle === undefined
        ? row.pause_after_idle_ms
        : readPauseAfterIdle({ mode: row.mode, pause_after_idle: idle }),
    auto_resume,
  };
}
