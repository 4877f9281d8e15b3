// The service `process.Process`.

import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ExecuteExit } from "@skerry/contract/vms/execute";
import type { Context } from "../context.ts";
import type { OutputEvent } from "../host-client/execution-calls.ts";
import { killExecution, resizeTerminal, sendInput } from "../vms/executions/executions.ts";
import { followExecution } from "../vms/executions/follow-execution.ts";
import { pieceOf } from "../vms/executions/start-detached.ts";
import type { SandboxCall } from "./sandbox-call.ts";
import { signalWords } from "./signal-words.ts";
import { findProcess, runningProcesses, sizeOf, startProcess, type RunningProcess } from "./processes.ts";
import { answering, callOf, streaming, withKeepalives } from "./rpc-call.ts";
import {
  Signal,
  type Process,
  type ProcessEventSchema,
  type ProcessInput,
  type StreamInputRequest,
} from "./wire/process_pb.js";

type ProcessEvent = MessageInitShape<typeof ProcessEventSchema>;

export function processService(context: Context): ServiceImpl<typeof Process> {
  return {
    list: (_asked, rpc) =>
      answering(rpc, async () => {
        const found = await runningProcesses(context, callOf(rpc));
        return { processes: found.map(infoOf) };
      }),
    start: (asked, rpc) => streaming(rpc, start(context, rpc, asked)),
    connect: (asked, rpc) => streaming(rpc, connect(context, rpc, asked)),
    update: (asked, rpc) =>
      answering(rpc, async () => {
        const call = callOf(rpc);
        const { execution } = await findProcess(context, call, asked.process);
        const size = asked.pty?.size;
        if (size !== undefined)
          await resizeTerminal(context, call.caller, { ...call, execution: execution.id, ...sizeOf(size) });
        return {};
      }),
    sendInput: (asked, rpc) =>
      answering(rpc, async () => {
        const call = callOf(rpc);
        await send(context, call, await findProcess(context, call, asked.process), asked.input);
        return {};
      }),
    streamInput: (asked, rpc) => answering(rpc, () => streamInput(context, callOf(rpc), asked)),
    sendSignal: (asked, rpc) =>
      answering(rpc, async () => {
        const call = callOf(rpc);
        const { execution } = await findProcess(context, call, asked.process);
        const signal = signalOf(asked.signal);
        await killExecution(context, call.caller, { ...call, execution: execution.id, signal });
        return {};
      }),
    closeStdin: (asked, rpc) =>
      answering(rpc, async () => {
        const call = callOf(rpc);
        const { execution } = await findProcess(context, call, asked.process);
        const params = { ...call, execution: execution.id, content: pieceOf(Buffer.alloc(0)), end: true };
        await sendInput(context, call.caller, params);
        return {};
      }),
  };
}

function infoOf({ pid, process: { cmd, args, cwd, tag } }: RunningProcess) {
  const config = { cmd, args: [...args], ...(cwd !== undefined && { cwd }) };
  return { pid, config, ...(tag !== undefined && { tag }) };
}

async function* start(
  context: Context,
  rpc: HandlerContext,
  asked: Parameters<ServiceImpl<typeof Process>["start"]>[0],
) {
  const call = callOf(rpc);
  using _open = context.openStreams.take(call.caller, call);
  const events = await startProcess(context, call, { asked, rpc });
  yield* withKeepalives(rpc, responses(events, asked.pty !== undefined), keepalive);
}

async function* connect(
  context: Context,
  rpc: HandlerContext,
  asked: Parameters<ServiceImpl<typeof Process>["connect"]>[0],
) {
  const call = callOf(rpc);
  using _open = context.openStreams.take(call.caller, call);
  const { execution } = await findProcess(context, call, asked.process);
  const params = { ...call, execution: execution.id, after: execution.position, hold: true };
  const events = await followExecution(context, call.caller, params);
  yield* withKeepalives(rpc, responses(events, execution.tty), keepalive);
}

const keepalive = () => ({ event: { event: { case: "keepalive" as const, value: {} } } });

async function* responses(events: AsyncIterable<OutputEvent>, isTerminal: boolean) {
  for await (const event of events) {
    const shown = eventOf(event, isTerminal);
    if (shown !== undefined) yield { event: shown };
  }
}

/** Undefined for what the clients know nothing of. */
function eventOf(event: OutputEvent, isTerminal: boolean): ProcessEvent | undefined {
  switch (event.kind) {
    case "start":
      return { event: { case: "start", value: { pid: event.state.pid ?? 0 } } };
    case "stdout":
    case "stderr": {
      const output = isTerminal ? "pty" : event.kind;
      return {
        event: { case: "data", value: { output: { case: output, value: new Uint8Array(event.bytes) } } },
      };
    }
    case "exit":
      return endOf(event.state.exit);
    case "dropped":
      return undefined;
  }
}

/** In the words that E2B's program has from its language. */
function endOf(exit: ExecuteExit | null): ProcessEvent {
  if (exit === null) throw new ConnectError("The process ended without a result.", Code.Internal);
  if (exit.timed_out)
    throw new ConnectError("The process was killed: its time was over.", Code.DeadlineExceeded);
  const { exit_code, signal } = exit;
  const status = signal === null ? `exit status ${exit_code}` : `signal: ${signalWords(signal)}`;
  const value = {
    exitCode: signal === null ? exit_code : -1,
    exited: signal === null,
    status,
    ...((signal !== null || exit_code !== 0) && { error: status }),
  };
  return { event: { case: "end", value } };
}

function signalOf(signal: Signal): "TERM" | "KILL" {
  if (signal === Signal.SIGTERM) return "TERM";
  if (signal === Signal.SIGKILL) return "KILL";
  throw new ConnectError("The signal is neither SIGTERM nor SIGKILL.", Code.InvalidArgument);
}

async function send(
  context: Context,
  call: SandboxCall,
  { execution }: RunningProcess,
  input: ProcessInput | undefined,
): Promise<void> {
  const bytes = input?.input.value;
  if (bytes === undefined) throw new ConnectError("There is no input to send.", Code.InvalidArgument);
  if (bytes.length === 0) return;
  const params = { ...call, execution: execution.id, content: pieceOf(bytes), end: false };
  await sendInput(context, call.caller, params);
}

/** The first message names the process, and those after it are its input, in their order. */
async function streamInput(
  context: Context,
  call: SandboxCall,
  messages: AsyncIterable<StreamInputRequest>,
): Promise<object> {
  using _open = context.openStreams.take(call.caller, call);
  let process: RunningProcess | undefined;
  for await (const { event } of messages) {
    if (event.case === "keepalive") continue;
    // Finding one costs a list of all, so it is done once.
    if ((event.case === "start") !== (process === undefined))
      throw new ConnectError("The first message, and no other, must name the process.", Code.InvalidArgument);
    if (event.case === "start") process = await findProcess(context, call, event.value.process);
    else if (event.case === "data" && process !== undefined)
      await send(context, call, process, event.value.input);
    else throw new ConnectError("A message after the first one has no input.", Code.InvalidArgument);
  }
  return {};
}
