// The pause of a sandbox: its memory and its disk become files of its host, and it holds nothing else. It is stored first, so the replica that dies
// on the way is followed by VM cleanup, which asks the host once more.

import { SkerryError, type ErrorCode } from "@skerry/contract/errors";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { PauseOptions } from "../host-client/snapshot-calls.ts";
import { retryOnConflict } from "../db/retry-on-conflict.ts";
import { auditBeforeEnd } from "../vms/injection-audit.ts";
import { isAnswer } from "../vms/is-answer.ts";
import { dropClaim, keepVmClaim } from "../vms/vm-claims.ts";
import { unlessOwned } from "../vms/owned.ts";
import { TRIES_MAX } from "../vms/postpone.ts";
import { clientOf } from "../vms/vm-kind.ts";
import { sandboxTable, transitionSandbox, type SandboxRow } from "./sandbox-store.ts";
import { settledSandbox } from "./settled-sandbox.ts";
import { beginPausing } from "./begin-pausing.ts";
import { ended, notRunning } from "./sandboxes.ts";
import { goOnInUse, goOnUnpaused } from "./pause-store.ts";

interface PauseParams {
  /** One that is destroyed when its time is over, and not paused, may be paused before. */
  readonly ephemeralToo?: boolean;
  /** It keeps its disk alone, and boots from it when it is resumed. */
  readonly withoutMemory?: boolean;
}

/** Resolves when it is paused; at once where it is already. */
export function pauseSandbox(
  context: Context,
  caller: Caller,
  id: string,
  { ephemeralToo = false, withoutMemory = false }: PauseParams = {},
): Promise<SandboxRow> {
  return retryOnConflict(
    async () => {
      const row = unlessOwned(sandboxTable, await settledSandbox(context, caller, id));
      if (row.status === "paused") return row;
      if (row.status !== "running") throw notRunning(row);
      if (row.mode === "ephemeral" && !ephemeralToo) throw notPersistent();
      const pausing = await beginPausing(context, row, withoutMemory);
      return pausing && finishPausing(context, pausing);
    },
    () =>
      new SkerryError("vm_moving", "The sandbox is on its way to another host.", {
        remediation: "Try again in a few seconds.",
        retryAfterS: 2,
      }),
  );
}

type Pausing = Pick<
  SandboxRow,
  "id" | "version" | "status" | "execution_id" | "host_id" | "reboots" | "attempts"
>;

/** Has the host pause what the row says, as `pausing`, and says so in the row. Where the host refuses, the sandbox goes on; where it is not known what the
 *  host has done, the row stays for VM cleanup, which does not try for ever: one that cannot be paused runs, and its time ends it. Undefined where another writer was first, or where it is paused only if nothing uses it, and something does. */
export async function finishPausing(
  context: Context,
  row: Pausing,
  options: PauseOptions = {},
): Promise<SandboxRow | undefined> {
  context.vmLocations.forget(row.id);
  using _claim = keepVmClaim(context, row);
  try {
    const client = await clientOf(context, row);
    await auditBeforeEnd(context, client, row);
    await client.snapshots.pause(row, { ...options, sync: row.reboots });
  } catch (error) {
    if (error instanceof SkerryError && error.code === "vm_in_use") {
      await goOnInUse(context.db, row);
      return undefined;
    }
    const isRefused = isAnswer(error) && !wentAway.has(error.code);
    if (isRefused || row.attempts + 1 >= TRIES_MAX) {
      const why = error instanceof SkerryError ? error.message : "internal error";
      await goOnUnpaused(context.db, row, `it could not be paused: ${why}`);
      throw error;
    }
    await dropClaim(context.db, row);
    context.wake("vm-cleanup");
    throw isAnswer(error) ? ended(error) : error;
  }
  return transitionSandbox(context.db, row, "paused");
}

/** The VM has ended; VM cleanup finds out why. */
const wentAway: ReadonlySet<ErrorCode> = new Set(["vm_not_found", "vm_not_running", "stale_execution"]);

function notPersistent(): SkerryError {
  return new SkerryError("sandbox_not_persistent", "The sandbox is ephemeral: it cannot be paused.", {
    remediation: 'Create sandboxes that are to be paused with `"mode": "persistent"`.',
    context: { mode: "ephemeral" },
  });
}
