// Executions of a VM. Its agent keeps them, so they are asked for where the VM is; whose they are follows from whose VM it is.

import { SkerryError } from "@skerry/contract/errors";
import type { ExecutionState } from "@skerry/contract/host-api/executions";
import { formatDuration } from "@skerry/contract/durations";
import { isId, timeOfId } from "@skerry/contract/ids";
import type { PageQuery } from "@skerry/contract/page";
import type { ExecuteExit } from "@skerry/contract/vms/execute";
import type { Execution, ExecutionList } from "@skerry/contract/vms/execution";
import { signalNumber, type ExecutionSignal } from "@skerry/contract/vms/execution-signals";
import type { ExecutionRef } from "../../host-client/execution-calls.ts";
import type { HostClient } from "../../host-client/host-client.ts";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { readPage } from "../../values/page.ts";
import { callVm, vmError, type VmRef } from "../vm-kind.ts";

export interface CallParams extends VmRef {
  /** The caller went away. */
  readonly gone: AbortSignal;
}

export interface ExecutionParams extends CallParams {
  readonly execution: string;
}

/** Newest first. What has no id of ours a hostile guest has made up. */
export async function listExecutions(
  context: Context,
  caller: Caller,
  params: CallParams & { readonly page: PageQuery },
): Promise<ExecutionList> {
  const states = await inVm(context, caller, params, (vm, client) => client.executions.list(vm, params.gone));
  const known = states
    .filter(({ execution }) => isId("execution", execution))
    .toSorted((a, b) => (a.execution < b.execution ? 1 : -1))
    .map(shown);
  return readPage("execution", params.page, async (before, limit) =>
    known.filter(({ id }) => before === undefined || id < before).slice(0, limit),
  );
}

export async function getExecution(
  context: Context,
  caller: Caller,
  params: ExecutionParams,
): Promise<Execution> {
  checkId(params.execution);
  return shown(
    await onExecution(context, caller, params, (ref, client) => client.executions.get(ref, params.gone)),
  );
}

/** Does nothing to one that has exited. */
export async function killExecution(
  context: Context,
  caller: Caller,
  params: ExecutionParams & { readonly signal: ExecutionSignal },
): Promise<Execution> {
  checkId(params.execution);
  const number = signalNumber(params.signal);
  return shown(
    await onExecution(context, caller, params, (ref, client) =>
      client.executions.signal(ref, number, params.gone),
    ),
  );
}

/** Resolves when its pipe or its terminal has taken all of it. */
export async function sendInput(
  context: Context,
  caller: Caller,
  params: ExecutionParams & { readonly content: AsyncIterable<Uint8Array>; readonly end: boolean },
): Promise<void> {
  checkId(params.execution);
  const { content, end, gone } = params;
  // Once some of it has been sent it cannot be sent again to where the VM is now.
  let begun = false;
  await onExecution(context, caller, params, (ref, client) => {
    if (begun)
      throw new SkerryError("vm_moving", "The microVM has just moved to another host.", { retryAfterS: 1 });
    begun = true;
    return client.executions.input(ref, { content, end }, gone);
  });
}

export async function resizeTerminal(
  context: Context,
  caller: Caller,
  params: ExecutionParams & { readonly cols: number; readonly rows: number },
): Promise<void> {
  const { cols, rows, gone } = params;
  await onExecution(context, caller, params, (ref, client) =>
    client.executions.resize(ref, { cols, rows }, gone),
  );
}

/** Throws `execution_not_found` for what is no id: nothing else goes to a host. */
export function checkId(execution: string): void {
  if (!isId("execution", execution)) throw executionNotFound(execution);
}

const SHOWN_MAX_CHARS = 60;

export function executionNotFound(execution: string, cause?: unknown): SkerryError {
  const shown =
    execution.length > SHOWN_MAX_CHARS ? `${execution.slice(0, SHOWN_MAX_CHARS).toWellFormed()}…` : execution;
  return new SkerryError("execution_not_found", `There is no execution "${shown}", or it is forgotten.`, {
    remediation:
      "List the executions of the sandbox or the machine: those that run and the last ones that have ended are known.",
    context: { execution: shown },
    cause,
  });
}

/** What a host says of an execution that it does not know, with its id and what to do. */
export function executionError(error: unknown, execution: string): unknown {
  const isUnknown = error instanceof SkerryError && error.code === "execution_not_found";
  return isUnknown ? executionNotFound(execution, error) : error;
}

function onExecution<T>(
  context: Context,
  caller: Caller,
  params: ExecutionParams,
  call: (execution: ExecutionRef, client: HostClient) => Promise<T>,
): Promise<T> {
  const { execution } = params;
  return inVm(context, caller, params, (vm, client) => call({ vm, execution }, client)).catch(
    (error: unknown) => {
      throw executionError(error, execution);
    },
  );
}

async function inVm<T>(
  context: Context,
  caller: Caller,
  params: CallParams,
  call: (vm: ExecutionRef["vm"], client: HostClient) => Promise<T>,
): Promise<T> {
  try {
    return await callVm(context, caller, params, call);
  } catch (error) {
    throw await vmError(context, caller, params, error);
  }
}

/** As its callers see it. When it was started its id tells, which is ours and not the guest's. */
export function shown(state: ExecutionState): Execution {
  const startedMs = timeOfId(state.execution);
  const { exit } = state;
  return {
    id: state.execution,
    pid: exit === null && state.pid !== undefined && state.pid > 0 ? state.pid : null,
    command: state.command,
    status: exit === null ? "running" : "exited",
    detached: state.reattach_ms < 0,
    reattach: state.reattach_ms > 0 ? formatDuration(state.reattach_ms) : null,
    timeout: state.timeout_ms > 0 ? formatDuration(state.timeout_ms) : null,
    tty: state.tty,
    stdin: state.stdin && exit === null,
    position: state.position,
    kept_from: state.from,
    started_at: new Date(Math.min(startedMs, TIME_MAX_MS)).toISOString(),
    ended_at: exit === null ? null : endOf(startedMs, exit).toISOString(),
    exit,
  };
}

/** A guest may say that a command took longer than there are years. */
const TIME_MAX_MS = Date.UTC(9_999, 0);

export function endOf(startedMs: number, { duration_ms }: Pick<ExecuteExit, "duration_ms">): Date {
  return new Date(Math.min(startedMs + duration_ms, TIME_MAX_MS));
}
