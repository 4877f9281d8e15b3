// The output of an execution, also across a host that is restarted and a VM that moves: the execution is followed again from the position
// that was reached, so no byte is lost or comes twice.

import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import type { OutputEvent } from "../../host-client/execution-calls.ts";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { executionError } from "./executions.ts";
import { callVm, vmError, type VmRef } from "../vm-kind.ts";

/** A host that starts anew, or a move, takes some seconds; an attached execution is waited for as long. */
const AWAY_MAX_MS = 25_000;
const AGAIN_MS = 250;

export interface FollowParams extends VmRef {
  readonly execution: string;
  readonly after: number;
  readonly hold: boolean;
  /** The caller went away. */
  readonly gone: AbortSignal;
}

/** Resolves when the first reader is there, or throws why there is none. */
export async function followExecution(
  context: Context,
  caller: Caller,
  params: FollowParams,
): Promise<AsyncGenerator<OutputEvent>> {
  return followOn(context, caller, params, await open(context, caller, params, params.after));
}

/** Goes on where `first` breaks off. */
export async function* followOn(
  context: Context,
  caller: Caller,
  params: FollowParams,
  first: AsyncGenerator<OutputEvent>,
): AsyncGenerator<OutputEvent, void> {
  let events = first;
  let position = params.after;
  let awayMs = 0;
  for (let begun = false; ;) {
    try {
      for await (const event of events) {
        awayMs = 0;
        position = event.position;
        if (event.kind !== "start" || !begun) yield event;
        begun = true;
        if (event.kind === "exit") return;
      }
      return;
    } catch (error) {
      if (!isPassing(error) || params.gone.aborted || position < 0)
        throw executionError(await vmError(context, caller, params, error), params.execution);
      const startedMs = performance.now();
      events = await again(context, caller, { ...params, after: position }, AWAY_MAX_MS - awayMs);
      awayMs += performance.now() - startedMs;
    }
  }
}

async function again(
  context: Context,
  caller: Caller,
  params: FollowParams,
  leftMs: number,
): Promise<AsyncGenerator<OutputEvent>> {
  const endMs = performance.now() + leftMs;
  for (;;) {
    await sleep(AGAIN_MS, undefined, { signal: params.gone }).catch(() => undefined);
    try {
      return await open(context, caller, params, params.after);
    } catch (error) {
      if (!isPassing(error) || params.gone.aborted || performance.now() > endMs) throw error;
    }
  }
}

async function open(
  context: Context,
  caller: Caller,
  params: FollowParams,
  after: number,
): Promise<AsyncGenerator<OutputEvent>> {
  const { execution, hold, gone } = params;
  try {
    return await callVm(context, caller, params, (vm, client) =>
      client.executions.follow({ vm, execution }, { after, hold }, gone),
    );
  } catch (error) {
    throw executionError(await vmError(context, caller, params, error), execution);
  }
}

function isPassing(error: unknown): boolean {
  return (
    error instanceof SkerryError && ["host_unavailable", "host_draining", "vm_moving"].includes(error.code)
  );
}
