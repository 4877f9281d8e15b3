import { SkerryError } from "@skerry/contract/errors";
import {
  EXECUTE_TIMEOUT_DEFAULT_MS,
  EXECUTE_TIMEOUT_MAX_MS,
  OUTPUT_MAX_BYTES,
} from "@skerry/contract/bounds";
import type { ExecuteCommand } from "@skerry/contract/host-api/vm";
import type { ExecuteExit, ExecuteRequest } from "@skerry/contract/vms/execute";
import type { ExecutionEvent } from "../../host-client/execution-events.ts";
import type { Outcome } from "../../metrics/metrics.ts";
import type { RequestTiming } from "../../http/request-timing.ts";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { readBoundedDuration } from "../../values/durations.ts";
import { checkEnv, checkTogether } from "../../values/check-env.ts";
import { checkText } from "../../values/check-text.ts";
import { OutputBudget } from "./output-budget.ts";
import { OutputCollector } from "./output.ts";
import { checkPath } from "../../values/paths.ts";
import { withPath } from "../name-path.ts";
import { callVm, vmError, type VmRef } from "../vm-kind.ts";

const MIB = 1024 * 1024;
/**
 * Of this process. One organization alone can collect seven outputs of the largest size at once; most are a few hundred bytes. The
 * first blocks are 4,096: where an organization's share is used up, its commands can still print a line.
 */
const budget = new OutputBudget({ sharedBytes: 224 * MIB, firstBlocksBytes: 16 * MIB });

export interface ExecuteParams extends VmRef {
  readonly request: ExecuteRequest;
  /** What the command reads. */
  readonly input: Buffer | undefined;
  /** The caller went away: the command is killed. */
  readonly gone: AbortSignal;
  readonly timing: RequestTiming;
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
  const source = { budget, orgId: caller.orgId };
  const stdout = undo.use(new OutputCollector(OUTPUT_MAX_BYTES, source));
  const stderr = undo.use(new OutputCollector(OUTPUT_MAX_BYTES, source));
  const events = await run(context, caller, params, OUTPUT_MAX_BYTES);
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

/** The same run as events, while it runs and without a bound on its output. */
export async function executeStream(
  context: Context,
  caller: Caller,
  params: ExecuteParams,
): Promise<AsyncGenerator<ExecutionEvent>> {
  const events = await run(context, caller, params, NO_LIMIT);
  await params.begun();
  return events;
}

const NO_LIMIT = 0;
/** Of the guest's agent. */
const WORKDIR_DEFAULT = "/root";

async function run(
  context: Context,
  caller: Caller,
  params: ExecuteParams,
  outputLimit: number,
): Promise<AsyncGenerator<ExecutionEvent>> {
  const command = readCommand(params.request);
  let startedMs = performance.now();
  try {
    const take = () =>
      callVm(context, caller, params, (row, client) => {
        startedMs = performance.now();
        const { id, execution_id } = row;
        const named = { ...command, execution_id, output_limit: outputLimit };
        return client.execute(id, { command: named, input: params.input }, params.gone);
      });
    const events = await params.timing.measure("start", take);
    return observed(context, caller, { ref: params, workdir: workdirOf(params.request), events, startedMs });
  } catch (error) {
    context.metrics.execution.observe((performance.now() - startedMs) / 1_000, "error");
    throw withPath(await vmError(context, caller, params, error), workdirOf(params.request));
  }
}

function workdirOf({ workdir }: ExecuteRequest): string {
  return workdir ?? WORKDIR_DEFAULT;
}

interface BegunRun {
  readonly ref: VmRef;
  readonly workdir: string;
  readonly events: AsyncGenerator<ExecutionEvent>;
  readonly startedMs: number;
}

/** The events, their errors translated, and the whole counted; a run whose client left before its end counts as an error. */
async function* observed(
  context: Context,
  caller: Caller,
  { ref, workdir, events, startedMs }: BegunRun,
): AsyncGenerator<ExecutionEvent> {
  const { execution, executionOverhead } = context.metrics;
  let outcome: Outcome = "error";
  try {
    for await (const event of events) {
      if (event.type === "exit") {
        outcome = "ok";
        const overheadMs = performance.now() - startedMs - event.exit.duration_ms;
        executionOverhead.observe(Math.max(0, overheadMs) / 1_000);
      }
      yield event;
    }
  } catch (error) {
    throw withPath(await vmError(context, caller, ref, error), workdir);
  } finally {
    execution.observe((performance.now() - startedMs) / 1_000, outcome);
  }
}

function readCommand(request: ExecuteRequest): Omit<ExecuteCommand, "execution_id" | "output_limit"> {
  const command = {
    command: checkText("command", request.command),
    workdir: request.workdir === undefined ? null : checkPath("workdir", request.workdir),
    env: checkEnv(request.env ?? {}),
    timeout_ms:
      request.timeout === undefined
        ? EXECUTE_TIMEOUT_DEFAULT_MS
        : readBoundedDuration("timeout", request.timeout, EXECUTE_TIMEOUT_MAX_MS),
  };
  checkTogether(command);
  return command;
}
