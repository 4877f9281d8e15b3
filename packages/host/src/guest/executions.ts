// Executions of a guest: what is asked of its agent, and what it answers, held against what can be true. An agent that lies about the
// positions of output would have readers lose bytes or get them twice, so its VM is ended.

import { SkerryError } from "@skerry/contract/errors";
import { FrameError, parseJsonPayload } from "@skerry/contract/frames";
import type {
  FollowOperation,
  InputOperation,
  ResizeOperation,
  SignalOperation,
  StartOperation,
} from "@skerry/contract/guest-api/guest-operations";
import { ExecutionRecordParser, RecordError } from "@skerry/contract/guest-api/execution-records";
import type { ExecutionState } from "@skerry/contract/host-api/executions";
import { resultOf } from "./agent.ts";
import { SHORT_DEADLINE_MS, withDeadline } from "./patience.ts";
import type { GuestChannel } from "./channel.ts";
import { integer, natural } from "./numbers.ts";
import { signalName } from "../system/signals.ts";
import type { GuestStream } from "./stream.ts";

type Answer = Readonly<Record<string, unknown>>;

/** All that an agent keeps. */
const EXECUTIONS_MAX = 256;
/** A command of 1,024 bytes, six times as long where each needs an escape, and the other fields. */
const LINE_MAX_BYTES = 8 * 1024;
const COMMAND_MAX_CHARS = 2_048;

/** Resolves when the command is executed. Throws SkerryError where it cannot be. */
export async function startExecution(
  channel: GuestChannel,
  operation: Omit<StartOperation, "op">,
): Promise<ExecutionState> {
  const stream = channel.open({ op: "start", ...operation });
  return stateOf(
    channel,
    operation.execution,
    await withDeadline(channel, SHORT_DEADLINE_MS, resultOf(stream)),
  );
}

interface ForgottenProgram extends Required<Pick<StartOperation, "program" | "user" | "run_files">> {
  readonly timeoutMs: number;
}

/** Runs a program before the guest gets an identity: nothing tells of it later. Throws unless it succeeds. */
export async function runForgotten(
  channel: GuestChannel,
  { timeoutMs, ...program }: ForgottenProgram,
): Promise<void> {
  const execution = "exe_forgotten";
  const run = async (): Promise<ExecutionState> => {
    const plain = { env: {}, stdin: true, tty: false, cols: 80, rows: 24, reattach_ms: -1 } as const;
    const command = program.program.join(" ");
    await startExecution(channel, { execution, command, ...program, ...plain, timeout_ms: timeoutMs });
    const reader = await ExecutionReader.open(channel, { execution, after: 0, hold: true });
    while ((await reader.read()) !== undefined);
    const state = await reader.end();
    await resultOf(channel.open({ op: "forget", execution }));
    return state;
  };
  const { command, exit } = await withDeadline(channel, timeoutMs + SHORT_DEADLINE_MS, run());
  if (exit?.exit_code !== 0) throw new Error(`the program ended with ${exit?.exit_code}: ${command}`);
}

/** What an agent answers at once. */
export async function askExecution(
  channel: GuestChannel,
  operation: SignalOperation | ResizeOperation | { readonly op: "execution"; readonly execution: string },
): Promise<ExecutionState> {
  const answer = resultOf(channel.open(operation));
  return stateOf(channel, operation.execution, await withDeadline(channel, SHORT_DEADLINE_MS, answer));
}

export function startInput(channel: GuestChannel, operation: Omit<InputOperation, "op">): GuestStream {
  return channel.open({ op: "input", ...operation });
}

/** Resolves when the command's pipe or terminal has taken all. Without a deadline: it may read when it likes. */
export async function inputTaken(stream: GuestStream): Promise<void> {
  await resultOf(stream);
}

/** All executions of the guest, in the order in which they were started. */
export async function listExecutions(channel: GuestChannel): Promise<ExecutionState[]> {
  const stream = channel.open({ op: "executions" });
  const read = async (): Promise<Buffer[]> => {
    const parts: Buffer[] = [];
    let bytes = 0;
    for (let part = await stream.read(); part !== undefined; part = await stream.read()) {
      bytes += part.bytes.length;
      if (bytes > EXECUTIONS_MAX * LINE_MAX_BYTES) lied(channel, "its list of executions is too long");
      parts.push(part.bytes);
    }
    await resultOf(stream);
    return parts;
  };
  const text = Buffer.concat(await withDeadline(channel, SHORT_DEADLINE_MS, read())).toString("utf8");
  const lines = text.split("\n").slice(0, -1);
  if (lines.length > EXECUTIONS_MAX) lied(channel, "its list of executions is too long");
  return lines.map((line) => {
    const answer = jsonOf(channel, line);
    const id = answer["execution"];
    if (typeof id !== "string" || !/^[a-z0-9_]{1,63}$/.test(id))
      return lied(channel, "an execution of its list has no id");
    return stateOf(channel, id, answer);
  });
}

/** A reader of an execution. The output is handed on as the records that came, which have been checked. */
export class ExecutionReader {
  readonly #channel: GuestChannel;
  readonly #stream: GuestStream;
  readonly #id: string;
  readonly #parser: ExecutionRecordParser;
  /** As it was when the reader began. */
  readonly state: ExecutionState;

  private constructor(channel: GuestChannel, stream: GuestStream, state: ExecutionState) {
    this.#channel = channel;
    this.#stream = stream;
    this.#id = state.execution;
    this.#parser = new ExecutionRecordParser(state.at);
    this.state = state;
  }

  /** Throws SkerryError where there is no such execution, or it has not written so much. */
  static async open(channel: GuestChannel, operation: Omit<FollowOperation, "op">): Promise<ExecutionReader> {
    const { execution, after } = operation;
    const stream = channel.open({ op: "follow", ...operation });
    const head = await withDeadline(channel, SHORT_DEADLINE_MS, stream.head());
    if (head === undefined) {
      await resultOf(stream);
      return lied(channel, "it ended a reader before it began");
    }
    const state = stateOf(channel, execution, head);
    if ((after >= 0 && state.at !== after) || state.at > state.position)
      lied(channel, `a reader that asked for position ${after} begins at ${state.at}`);
    return new ExecutionReader(channel, stream, state);
  }

  /** The next records; undefined after the last ones. */
  async read(): Promise<Buffer | undefined> {
    const output = await this.#stream.read();
    if (output === undefined) return undefined;
    if (output.kind !== "data") return lied(this.#channel, "it sent a reader error output without a record");
    try {
      for (const _record of this.#parser.push(output.bytes));
    } catch (error) {
      if (error instanceof RecordError) return lied(this.#channel, error.message);
      throw error;
    }
    return output.bytes;
  }

  /** How it ended. Call it when there are no records left. */
  async end(): Promise<ExecutionState> {
    const state = stateOf(this.#channel, this.#id, await resultOf(this.#stream));
    if (!this.#parser.atBoundary || state.position < this.#parser.position)
      lied(this.#channel, "it ended a reader in the middle of what it had sent");
    if (state.exit !== null && state.position !== this.#parser.position)
      lied(
        this.#channel,
        `a reader that got ${this.#parser.position} bytes should have got ${state.position}`,
      );
    return state;
  }

  /** The reader may come back: the execution waits for it. */
  leave(): void {
    this.#stream.end();
  }

  /** The reader has gone. */
  cancel(): void {
    this.#stream.cancel();
  }
}

function stateOf(channel: GuestChannel, id: string, answer: Answer): ExecutionState {
  const [at, from, position] = ["at", "from", "position"].map((name) => natural(answer[name])) as [
    number,
    number,
    number,
  ];
  if (answer["execution"] !== id) lied(channel, "it told of another execution than was asked for");
  if (from > position) lied(channel, `an execution keeps its output from position ${from} to ${position}`);
  const { command } = answer;
  const signal = natural(answer["signal"]);
  const durationMs = natural(answer["duration_ms"]);
  const exit = {
    exit_code: natural(answer["exit_code"]),
    duration_ms: durationMs,
    timed_out: answer["timed_out"] === true,
    signal: signal === 0 ? null : signalName(signal),
    oom_killed: answer["oom_killed"] === true,
    truncated: false,
    usage: { cpu_ms: natural(answer["cpu_ms"]), memory_peak_bytes: natural(answer["memory_peak_bytes"]) },
  };
  return {
    execution: id,
    pid: natural(answer["pid"]),
    command: typeof command === "string" ? command.slice(0, COMMAND_MAX_CHARS) : "",
    tty: answer["tty"] === true,
    stdin: answer["stdin"] === true,
    timeout_ms: natural(answer["timeout_ms"]),
    reattach_ms: Math.max(-1, integer(answer["reattach_ms"])),
    duration_ms: durationMs,
    ...{ at, from, position },
    exit: answer["ended"] === true ? exit : null,
  };
}

function jsonOf(channel: GuestChannel, line: string): Answer {
  try {
    return parseJsonPayload(Buffer.from(line));
  } catch (error) {
    if (error instanceof FrameError) return lied(channel, "a line of its list of executions is no object");
    throw error;
  }
}

/** Ends the VM, with the reason. */
function lied(channel: GuestChannel, what: string): never {
  channel.close(`the guest's agent broke the protocol: ${what}`);
  throw new SkerryError("guest_failed", "The VM's agent told something of an execution that cannot be.");
}
