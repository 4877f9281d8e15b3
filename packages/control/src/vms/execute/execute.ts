import { SkerryError } from "@skerry/contract/errors";
import {
  EXECUTE_TIMEOUT_DEFAULT_MS,
  EXECUTE_TIMEOUT_MAX_MS,
  EXECUTION_TIMEOUT_MAX_MS,
  OUTPUT_MAX_BYTES,
  REATTACH_MAX_MS,
} from "@skerry/contract/bounds";
import { isNoBound } from "@skerry/contract/durations";
import { newId } from "@skerry/contract/ids";
import type { ExecuteExit, ExecuteRequest } from "@skerry/contract/vms/execute";
import type { ExecutionRef, OutputEvent } from "../../host-client/execution-calls.ts";
import type { ExecutionEvent } from "../../host-client/execution-events.ts";
import type { HostClient } from "../../host-client/host-client.ts";
import type { Outcome } from "../../metrics/metrics.ts";
import type { RequestTiming } from "../../http/request-timing.ts";
import type { Caller } from "../../caller.ts";
import { stateOf, type Context } from "../../context.ts";
import { readBoundedDuration, readOptionalBound, tooLong } from "../../values/durations.ts";
import { OutputBudget } from "./output-budget.ts";
import { OutputCollector } from "./output.ts";
import { tellOutOfMemory } from "../events/events.ts";
import { withPath } from "../name-path.ts";
import { keptAtExit, startKept } from "../executions/keep-output.ts";
import { commandOf, sendAll } from "../executions/start-detached.ts";
import { followOn } from "../executions/follow-execution.ts";
import { readCommand, workdirOf } from "../executions/read-command.ts";
import { callVm, vmError, type VmRef } from "../vm-kind.ts";

const MIB = 1024 * 1024;
/**
 * Of this process. One organization alone can collect seven outputs of the largest size at once; most are a few hundred bytes. The
 * first blocks are 4,096: where an organization's share is used up, its commands can still print a line.
 */
const budgetOf = stateOf(() => new OutputBudget({ sharedBytes: 224 * MIB, firstBlocksBytes: 16 * MIB }));

/** Standard input of a command. */
export interface CommandInput {
  bytes: Buffer | undefined;
  /** Gives the memory back that the request has held for it. */
  readonly release: () => void;
}

export interface ExecuteParams extends VmRef {
  readonly request: ExecuteRequest;
  readonly input: CommandInput;
  /** The caller went away: the command is killed. */
  readonly gone: AbortSignal;
  readonly timing: Pick<RequestTiming, "add" | "measure">;
  /** Called when the host has taken the command; the answer waits for what it returns. */
  readonly begun: () => Promise<void>;
}

/** A command that has ended. Disposing of it gives its memory back. */
export interface CollectedRun extends Disposable {
  readonly exit: ExecuteExit;
  readonly stdout: OutputCollector;
  readonly stderr: OutputCollector;
}

/** Runs a command to its end. Each stream holds at most `OUTPUT_MAX_BYTES`, also where the host sends more. */
export async function execute(
  context: Context,
  caller: Caller,
  params: ExecuteParams,
): Promise<CollectedRun> {
  using undo = new DisposableStack();
  const source = { budget: budgetOf(context), orgId: caller.orgId };
  const stdout = undo.use(new OutputCollector(OUTPUT_MAX_BYTES, source));
  const stderr = undo.use(new OutputCollector(OUTPUT_MAX_BYTES, source));
  const events = await run(context, caller, params);
  // While the command runs.
  const begun = params.begun();
  begun.catch(() => undefined); // heard of when it is awaited
  for await (const event of events) {
    if (event.type === "stdout") stdout.push(event.data);
    else if (event.type === "stderr") stderr.push(event.data);
    else {
      const truncated = event.exit.truncated || stdout.truncated || stderr.truncated;
      await begun;
      params.timing.add("run", event.exit.duration_ms);
      const kept = undo.move();
      return { exit: { ...event.exit, truncated }, stdout, stderr, [Symbol.dispose]: () => kept.dispose() };
    }
  }
  throw new SkerryError("guest_failed", "The command ended without a result.");
}

/** As an execution that its client may follow again: its events while it runs, without a bound on its output. */
export async function executeStream(
  context: Context,
  caller: Caller,
  params: ExecuteParams,
): Promise<AsyncGenerator<OutputEvent>> {
  const { request, input, gone } = params;
  const { timeout: _, ...ownCommand } = request;
  const command = {
    ...commandOf({ ...ownCommand, stdin_open: input.bytes !== undefined }, reattachMs(request)),
    timeout_ms: streamTimeoutMs(request),
  };
  const execution = newId("execution");
  let startedMs = performance.now();
  try {
    const take = () =>
      callVm(context, caller, params, async (vm, client) => {
        startedMs = performance.now();
        const events = await client.executions.startAndFollow({ vm, execution }, command, gone);
        // Beside the output, which may have to be read before the command reads on. Its own end tells what became of it.
        void sendInput(client, { vm, execution }, params);
        return events;
      });
    const keeping = { ...params, execution, command: request.command };
    const first = await params.timing.measure("start", () => startKept(context, caller, keeping, take));
    await params.begun();
    const follow = { ...params, execution, after: 0, hold: true };
    const events = keptAtExit(context, caller, keeping, followOn(context, caller, follow, first));
    return observed(context, events, { ref: params, startedMs, exitOf: exitOfOutput });
  } catch (error) {
    context.metrics.execution.observe((performance.now() - startedMs) / 1_000, "error");
    throw withPath(await vmError(context, caller, params, error), workdirOf(request));
  }
}

function reattachMs({ reattach }: ExecuteRequest): number {
  return reattach === undefined ? 0 : readBoundedDuration("reattach", reattach, REATTACH_MAX_MS);
}

/**
 * Forgets the input when the command has it: a stream lasts as long as its VM, and would hold the memory as
 * long.
 */
async function sendInput(
  client: HostClient,
  execution: ExecutionRef,
  { input, gone }: ExecuteParams,
): Promise<void> {
  if (input.bytes === undefined) return;
  try {
    await sendAll(client, execution, input.bytes, gone);
  } catch {
    // The output tells what became of the command.
  }
  input.bytes = undefined;
  input.release();
}

function streamTimeoutMs({ timeout }: ExecuteRequest): number {
  return timeout === undefined
    ? EXECUTE_TIMEOUT_DEFAULT_MS
    : readOptionalBound("timeout", timeout, EXECUTION_TIMEOUT_MAX_MS);
}

const UNBOUNDED =
  "A command that takes longer is streamed (`Accept: text/event-stream`, as the clients and `skerry sandbox exec` do) " +
  "or detached (`startExecution`, `skerry sandbox exec --detach`).";

/** An answer in one piece has a bound. */
function answerTimeoutMs({ timeout }: ExecuteRequest): number {
  if (timeout === undefined) return EXECUTE_TIMEOUT_DEFAULT_MS;
  if (isNoBound(timeout)) throw tooLong("timeout", timeout, EXECUTE_TIMEOUT_MAX_MS, UNBOUNDED);
  return readBoundedDuration("timeout", timeout, EXECUTE_TIMEOUT_MAX_MS, UNBOUNDED);
}

async function run(
  context: Context,
  caller: Caller,
  params: ExecuteParams,
): Promise<AsyncGenerator<ExecutionEvent>> {
  const command = { ...readCommand(params.request), timeout_ms: answerTimeoutMs(params.request) };
  let startedMs = performance.now();
  try {
    const take = () =>
      callVm(context, caller, params, (row, client) => {
        startedMs = performance.now();
        const { id, execution_id } = row;
        const named = { ...command, execution_id, output_limit: OUTPUT_MAX_BYTES };
        return client.execute(id, { command: named, input: params.input.bytes }, params.gone);
      });
    const events = await params.timing.measure("start", take);
    const told = explained(context, caller, params, events);
    return observed(context, told, { ref: params, startedMs, exitOf: exitOfRun });
  } catch (error) {
    context.metrics.execution.observe((performance.now() - startedMs) / 1_000, "error");
    throw withPath(await vmError(context, caller, params, error), workdirOf(params.request));
  }
}

/** How the command ended, at its end. */
const exitOfOutput = (event: OutputEvent): ExecuteExit | undefined =>
  event.kind === "exit" ? (event.state.exit ?? undefined) : undefined;
const exitOfRun = (event: ExecutionEvent): ExecuteExit | undefined =>
  event.type === "exit" ? event.exit : undefined;

interface Observed<Event> {
  readonly ref: VmRef;
  readonly startedMs: number;
  readonly exitOf: (event: Event) => ExecuteExit | undefined;
}

/** The events, and the whole counted; a run whose client left before its end counts as an error. */
async function* observed<Event>(
  context: Context,
  events: AsyncGenerator<Event>,
  { ref, startedMs, exitOf }: Observed<Event>,
): AsyncGenerator<Event> {
  const { execution, executionOverhead } = context.metrics;
  let outcome: Outcome = "error";
  try {
    for await (const event of events) {
      const exit = exitOf(event);
      if (exit !== undefined) {
        outcome = "ok";
        executionOverhead.observe(Math.max(0, performance.now() - startedMs - exit.duration_ms) / 1_000);
        if (exit.oom_killed) tellOutOfMemory(context, ref.id);
      }
      yield event;
    }
  } finally {
    execution.observe((performance.now() - startedMs) / 1_000, outcome);
  }
}

/** With errors that say what they mean for its VM. */
async function* explained(
  context: Context,
  caller: Caller,
  params: ExecuteParams,
  events: AsyncGenerator<ExecutionEvent>,
): AsyncGenerator<ExecutionEvent> {
  try {
    yield* events;
  } catch (error) {
    throw withPath(await vmError(context, caller, params, error), workdirOf(params.request));
  }
}
