// What changes in a directory, also across a host that is restarted and a VM that moves: it is watched again, and the caller is told that it may
// have missed something.

import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import type { FileEvent } from "@skerry/contract/vms/watches";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { readUrlPath } from "../../values/paths.ts";
import type { FileParams } from "../files/files.ts";
import { withPath } from "../name-path.ts";
import { callVm, takesWork, vmError } from "../vm-kind.ts";

export interface WatchParams extends FileParams {
  readonly recursive: boolean;
}

/** A host that starts anew, or a move, takes some seconds. */
const AWAY_MAX_MS = 25_000;
const AGAIN_MS = 250;
const overflow: FileEvent = { event: "overflow", path: "", type: "directory" };

/** Resolves when it watches. */
export async function watchFiles(
  context: Context,
  caller: Caller,
  params: WatchParams,
): Promise<AsyncGenerator<FileEvent, void>> {
  return watchOn(context, caller, params, await open(context, caller, params));
}

async function* watchOn(
  context: Context,
  caller: Caller,
  params: WatchParams,
  first: AsyncGenerator<FileEvent, void>,
): AsyncGenerator<FileEvent, void> {
  for (let events = first; ;) {
    try {
      yield* events;
      return;
    } catch (error) {
      if (!isPassing(error) || params.gone.aborted) throw await named(context, caller, params, error);
      events = await again(context, caller, params);
    }
    yield overflow;
  }
}

async function again(
  context: Context,
  caller: Caller,
  params: WatchParams,
): Promise<AsyncGenerator<FileEvent, void>> {
  const endMs = performance.now() + AWAY_MAX_MS;
  for (;;) {
    await sleep(AGAIN_MS, undefined, { signal: params.gone }).catch(() => undefined);
    // What was paused meanwhile stays so: a watch does not resume it.
    const row = await params.kind.get(context, caller, params.id);
    if (!takesWork(row)) throw params.kind.notRunning(row);
    try {
      return await open(context, caller, params);
    } catch (error) {
      if (!isPassing(error) || params.gone.aborted || performance.now() > endMs) throw error;
    }
  }
}

function open(
  context: Context,
  caller: Caller,
  params: WatchParams,
): Promise<AsyncGenerator<FileEvent, void>> {
  const path = readUrlPath(params.encodedPath);
  return callVm(context, caller, params, (vm, client) =>
    client.files.watch(vm, { path, recursive: params.recursive }, params.gone),
  ).catch(async (error: unknown) => {
    throw await named(context, caller, params, error);
  });
}

async function named(
  context: Context,
  caller: Caller,
  params: WatchParams,
  error: unknown,
): Promise<unknown> {
  return withPath(await vmError(context, caller, params, error), readUrlPath(params.encodedPath));
}

function isPassing(error: unknown): boolean {
  return (
    error instanceof SkerryError && ["host_unavailable", "host_draining", "vm_moving"].includes(error.code)
  );
}
