// A forward ends with its VM, also where nothing is sent through it.

import { SkerryError } from "@skerry/contract/errors";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import type { VmKind, VmRef, VmRow } from "../vm-kind.ts";

const LOOK_EVERY_MS = 5_000;

export interface WatchedVm extends Disposable {
  /** Aborts with a `SkerryError` when it has ended for good. One that is paused or stopped may come back. */
  readonly ended: AbortSignal;
}

export function watchVm(context: Context, caller: Caller, { kind, id }: VmRef): WatchedVm {
  const ended = new AbortController();
  const look = async (): Promise<void> => {
    try {
      const row = await kind.get(context, caller, id);
      if (isOver(kind, row)) ended.abort(kind.notRunning(row));
    } catch (error) {
      // A database that does not answer says nothing of the VM.
      if (error instanceof SkerryError && error.code === `${kind.noun}_not_found`) ended.abort(error);
    }
  };
  const timer = setInterval(() => void look(), LOOK_EVERY_MS).unref();
  return { ended: ended.signal, [Symbol.dispose]: () => clearInterval(timer) };
}

export function isOver({ noun }: VmKind, { status }: Pick<VmRow, "status">): boolean {
  if (status === "destroying" || status === "destroyed") return true;
  // A machine that has failed may be started again.
  return noun === "sandbox" && status === "failed";
}
