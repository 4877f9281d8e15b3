// Commands that live without a reader.

import { SkerryError } from "@skerry/contract/errors";
import { DETACHED_STDIN_MAX_BYTES, EXECUTION_TIMEOUT_MAX_MS, REATTACH_MAX_MS } from "@skerry/contract/bounds";
import type { StartExecution } from "@skerry/contract/host-api/executions";
import { newId } from "@skerry/contract/ids";
import type { Execution, ExecutionRequest } from "@skerry/contract/vms/execution";
import type { ExecutionRef, OutputEvent } from "../../host-client/execution-calls.ts";
import type { HostClient } from "../../host-client/host-client.ts";
import type { Creation } from "../../idempotency/create-once.ts";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { checkArgument, checkTogether, RUN_MAX_BYTES } from "../../values/check-env.ts";
import { checkText } from "../../values/check-text.ts";
import { readBoundedDuration, readOptionalBound } from "../../values/durations.ts";
import { withPath } from "../name-path.ts";
import { callVm, vmError } from "../vm-kind.ts";
import { getExecution, shown, type CallParams } from "./executions.ts";
import { followOn } from "./follow-execution.ts";
import { startKept } from "./keep-output.ts";
import { readCommand, workdirOf } from "./read-command.ts";

/** What runs in place of a shell; the command of the request is then only told of. */
export interface Program {
  readonly words: readonly string[];
  /** In whose home it begins where the request names no folder. */
  readonly user: string;
  /** Files of the guest's `/run` that are there when it begins. */
  readonly runFiles: Readonly<Record<string, string>>;
}

/** As the host is told. -1: detached. */
export function commandOf(
  request: ExecutionRequest,
  reattachMs: number,
): Omit<StartExecution, "execution_id" | "follow"> {
  const tty = request.tty === true;
  return {
    ...readCommand(request),
    timeout_ms:
      request.timeout === undefined
        ? 0
        : readOptionalBound("timeout", request.timeout, EXECUTION_TIMEOUT_MAX_MS),
    stdin: tty || request.stdin_open === true,
    tty,
    cols: request.cols ?? 80,
    rows: request.rows ?? 24,
    reattach_ms: reattachMs,
  };
}

interface DetachedParams extends CallParams {
  readonly request: ExecutionRequest;
  /** What it reads, and then its end. */
  readonly input?: Buffer | undefined;
}

/** Starts one command for each Idempotency-Key: an attempt that died may have started it, which its VM tells. */
export function detachedCreation(
  context: Context,
  caller: Caller,
  params: DetachedParams,
): Creation<Execution> {
  return {
    create: async (attempt) => {
      const execution = newId("execution");
      await attempt.begun(context.db, execution);
      return startDetached(context, caller, { ...params, execution });
    },
    outcome: async (execution) => {
      try {
        return { kind: "ready", answer: await getExecution(context, caller, { ...params, execution }) };
      } catch (error) {
        if (error instanceof SkerryError && error.code === "execution_not_found") return { kind: "nothing" };
        throw error;
      }
    },
  };
}

async function startDetached(
  context: Context,
  caller: Caller,
  params: DetachedParams & { readonly execution: string },
): Promise<Execution> {
  const { request, input, gone, execution } = params;
  if (input !== undefined && input.length > DETACHED_STDIN_MAX_BYTES) throw inputTooLong(input.length);
  const { reattach } = request;
  const reattachMs =
    reattach === undefined ? DETACHED : readBoundedDuration("reattach", reattach, REATTACH_MAX_MS);
  const asked = { ...request, ...(input === undefined ? {} : { stdin_open: true }) };
  const command = commandOf(asked, reattachMs);
  try {
    const start = () =>
      callVm(context, caller, params, async (vm, client) => {
        const started = await client.executions.start({ vm, execution }, command, gone);
        if (input !== undefined) await sendAll(client, { vm, execution }, input, gone);
        return shown(started);
      });
    return await startKept(context, caller, { ...params, command: request.command }, start);
  } catch (error) {
    throw withPath(await vmError(context, caller, params, error), workdirOf(request));
  }
}

const DETACHED = -1;

/** The same, and its output from the beginning; the command waits for this reader while it is there, and outlives it. */
export async function startFollowed(
  context: Context,
  caller: Caller,
  params: CallParams & { readonly request: ExecutionRequest; readonly program?: Program },
): Promise<AsyncGenerator<OutputEvent>> {
  const { request, program, gone } = params;
  const execution = newId("execution");
  const command = { ...commandOf(request, DETACHED), ...(program && readProgram(program, request)) };
  try {
    const first = await callVm(context, caller, params, (vm, client) =>
      client.executions.startAndFollow({ vm, execution }, command, gone),
    );
    return followOn(context, caller, { ...params, execution, after: 0, hold: true }, first);
  } catch (error) {
    throw withPath(await vmError(context, caller, params, error), workdirOf(request));
  }
}

function readProgram({ words, user, runFiles }: Program, { command, env = {} }: ExecutionRequest) {
  for (const word of words) checkArgument(checkText("command", word));
  checkTogether({ command: [command, ...words], env }, RUN_MAX_BYTES);
  return { program: [...words], user, run_files: { ...runFiles } };
}

/** Input, and its end. That a command reads none of it is its own affair. */
export async function sendAll(
  client: HostClient,
  execution: ExecutionRef,
  input: Buffer,
  gone: AbortSignal,
): Promise<void> {
  try {
    await client.executions.input(execution, { content: pieceOf(input), end: true }, gone);
  } catch (error) {
    if (!(error instanceof SkerryError && error.code === "execution_input_closed")) throw error;
  }
}

// oxlint-disable-next-line require-await -- the transport reads it as it reads a request's body
export async function* pieceOf(input: Uint8Array): AsyncGenerator<Uint8Array> {
  yield input;
}

function inputTooLong(bytes: number): SkerryError {
  return new SkerryError(
    "payload_too_large",
    `"stdin" is ${bytes} bytes long; a detached command takes at most ${DETACHED_STDIN_MAX_BYTES}.`,
    {
      remediation:
        "Upload it as a file, and redirect it: `command < file`; or send it to `stdin` of the execution.",
      context: { field: "stdin", max_bytes: DETACHED_STDIN_MAX_BYTES },
    },
  );
}
