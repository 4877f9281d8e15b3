// GET /v1/…/{id}/exec: a WebSocket at a command that is started for it, or at one that runs.

import { SkerryError } from "@skerry/contract/errors";
import { REATTACH_MAX_MS } from "@skerry/contract/bounds";
import { newId } from "@skerry/contract/ids";
import type { ExecQuery } from "@skerry/contract/vms/execution";
import { recordBegun } from "../../api/audit-hook.ts";
import { callerOf } from "../../api/authenticate-hook.ts";
import { requestSignal } from "../../api/request-signal.ts";
import type { Handler } from "../../api/routes.ts";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import type { OutputEvent } from "../../host-client/execution-calls.ts";
import { checkUpgrade, upgrade } from "../../http/upgrades.ts";
import { readBoundedDuration } from "../../values/durations.ts";
import { checkId, resizeTerminal, sendInput, type ExecutionParams } from "../executions/executions.ts";
import { followExecution, followOn } from "../executions/follow-execution.ts";
import { workdirOf } from "../executions/read-command.ts";
import { commandOf, pieceOf } from "../executions/start-detached.ts";
import { withPath } from "../name-path.ts";
import { callVm, vmError, type VmKind } from "../vm-kind.ts";
import { CHANNEL_PROTOCOL } from "./channels.ts";
import type { execOperation } from "./exec-operations.ts";
import { runSession, type CommandInput } from "./exec-session.ts";

/** What a client that attaches without a position is sent again. */
const REPLAYED_BYTES = 256 * 1024;
/** Without a command: what a person would type at. */
const LOGIN_SHELL = "if [ -x /bin/bash ]; then exec /bin/bash -l; else exec /bin/sh -l; fi";

export function execHandler(context: Context, kind: VmKind): Handler<ReturnType<typeof execOperation>> {
  return async (request, reply) => {
    const { query } = request;
    const caller = callerOf(request);
    // First, so that a stranger is told no more than by any other call.
    await kind.get(context, caller, request.params.id);
    checkUpgrade(request, CHANNEL_PROTOCOL);
    using _open = context.openStreams.take(caller, { kind, id: request.params.id });
    const gone = requestSignal(reply);
    const execution = query.execution ?? newId("execution");
    const params = { kind, id: request.params.id, execution, gone };
    const events = await (query.execution === undefined
      ? startFor(context, caller, params, query)
      : attachTo(context, caller, params, query));
    await recordBegun(context, request);
    reply.hijack();
    const socket = await upgrade(request, CHANNEL_PROTOCOL);
    const input = query.read_only === true ? undefined : inputOf(context, caller, params);
    await runSession(socket, events, { input, gone });
    return reply;
  };
}

function attachTo(
  context: Context,
  caller: Caller,
  params: ExecutionParams,
  query: ExecQuery,
): Promise<AsyncGenerator<OutputEvent>> {
  if (query.command !== undefined)
    throw new SkerryError("bad_request", '"command" starts an execution, and "execution" names one.', {
      remediation: "Leave one of the two out.",
    });
  checkId(params.execution);
  const after = query.after ?? -REPLAYED_BYTES;
  return followExecution(context, caller, { ...params, after, hold: query.read_only !== true });
}

async function startFor(
  context: Context,
  caller: Caller,
  params: ExecutionParams,
  query: ExecQuery,
): Promise<AsyncGenerator<OutputEvent>> {
  const { execution, gone } = params;
  const { command = LOGIN_SHELL, workdir, reattach, tty = true, cols, rows } = query;
  const asked = {
    ...{ command, tty, stdin_open: true },
    ...(workdir !== undefined && { workdir }),
    ...(cols !== undefined && { cols }),
    ...(rows !== undefined && { rows }),
  };
  const reattachMs = reattach === undefined ? 0 : readBoundedDuration("reattach", reattach, REATTACH_MAX_MS);
  try {
    const first = await callVm(context, caller, params, (vm, client) =>
      client.executions.startAndFollow({ vm, execution }, commandOf(asked, reattachMs), gone),
    );
    return followOn(context, caller, { ...params, after: 0, hold: true }, first);
  } catch (error) {
    throw withPath(await vmError(context, caller, params, error), workdirOf(asked));
  }
}

function inputOf(context: Context, caller: Caller, params: ExecutionParams): CommandInput {
  const send = (bytes: Buffer, end: boolean) =>
    sendInput(context, caller, { ...params, content: pieceOf(bytes), end });
  return {
    send: (bytes) => send(bytes, false),
    end: () => send(Buffer.alloc(0), true),
    resize: (cols, rows) => resizeTerminal(context, caller, { ...params, cols, rows }),
  };
}
