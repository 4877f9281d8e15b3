// The calls of the host API about executions. Leaving an output ends a reader, and the command only where its `reattach_ms` says so.

import { Compile } from "typebox/compile";
import type { Dispatcher } from "undici";
import { errorFromBody, SkerryError } from "@skerry/contract/errors";
import { FrameError, FrameParser, frameTypes, parseJsonPayload, type Frame } from "@skerry/contract/frames";
import {
  ExecutionRecordParser,
  RecordError,
  type ExecutionRecord,
} from "@skerry/contract/guest-api/execution-records";
import {
  ExecutionState,
  ExecutionStates,
  OUTPUT_PING_MS,
  type StartExecution,
} from "@skerry/contract/host-api/executions";
import { Deadline } from "./deadline.ts";
import { hostErrorOfCall } from "./host-errors.ts";
import type { VmRef } from "./vm-ref.ts";
import type { HostTransport } from "./host-transport.ts";

/** What a reader of an execution gets. `position`: of all that it has got then. */
export type OutputEvent =
  | { readonly kind: "start" | "exit"; readonly state: ExecutionState; readonly position: number }
  | ExecutionRecord;

/** An execution of an incarnation of a VM. */
export interface ExecutionRef {
  readonly vm: VmRef;
  readonly execution: string;
}

const CALL_DEADLINE_MS = 35_000;
/** A host that sends no ping for so long has gone. */
const SILENCE_MS = 4 * OUTPUT_PING_MS;

const shapes = { state: Compile(ExecutionState), states: Compile(ExecutionStates) };

export class ExecutionCalls {
  readonly #transport: HostTransport;
  readonly #lasting: HostTransport;

  /** `lasting`: for what lasts as long as a command likes. */
  constructor(transport: HostTransport, lasting: HostTransport) {
    this.#transport = transport;
    this.#lasting = lasting;
  }

  /** The same id twice is one command. */
  start(
    { vm, execution }: ExecutionRef,
    command: Omit<StartExecution, "execution_id" | "follow">,
    gone: AbortSignal,
  ): Promise<ExecutionState> {
    const json: StartExecution = { ...command, execution_id: vm.execution_id, follow: false };
    const call = { method: "PUT", path: pathOf(vm, execution), json } as const;
    return this.#transport.json(call, shapes.state, new Deadline(CALL_DEADLINE_MS, gone));
  }

  /** The same, and its output from the beginning; the command waits for this reader. */
  async startAndFollow(
    { vm, execution }: ExecutionRef,
    command: Omit<StartExecution, "execution_id" | "follow">,
    gone: AbortSignal,
  ): Promise<AsyncGenerator<OutputEvent>> {
    const json: StartExecution = { ...command, execution_id: vm.execution_id, follow: true };
    const call = { method: "PUT", path: pathOf(vm, execution), json, idleMs: SILENCE_MS } as const;
    return guarded(await this.#lasting.open(call, gone), gone);
  }

  /** `after`: the position to go on from; less than 0: so many bytes before what was written last. */
  async follow(
    { vm, execution }: ExecutionRef,
    from: { readonly after: number; readonly hold: boolean },
    gone: AbortSignal,
  ): Promise<AsyncGenerator<OutputEvent>> {
    const call = {
      method: "GET",
      path: `${pathOf(vm, execution)}/output`,
      query: { execution_id: vm.execution_id, after: from.after, hold: String(from.hold) },
      idleMs: SILENCE_MS,
    } as const;
    return guarded(await this.#lasting.open(call, gone), gone);
  }

  async list(vm: VmRef, gone: AbortSignal): Promise<readonly ExecutionState[]> {
    const query = { execution_id: vm.execution_id };
    const call = { method: "GET", path: `/vms/${encodeURIComponent(vm.id)}/executions`, query } as const;
    return (await this.#transport.json(call, shapes.states, new Deadline(CALL_DEADLINE_MS, gone))).items;
  }

  get({ vm, execution }: ExecutionRef, gone: AbortSignal): Promise<ExecutionState> {
    const query = { execution_id: vm.execution_id };
    const call = { method: "GET", path: pathOf(vm, execution), query } as const;
    return this.#transport.json(call, shapes.state, new Deadline(CALL_DEADLINE_MS, gone));
  }

  /** Resolves when its pipe or its terminal has taken all, which is when the command likes. */
  async input(
    { vm, execution }: ExecutionRef,
    { content, end }: { readonly content: AsyncIterable<Uint8Array>; readonly end: boolean },
    gone: AbortSignal,
  ): Promise<void> {
    const call = {
      method: "POST",
      path: `${pathOf(vm, execution)}/input`,
      query: { execution_id: vm.execution_id, end: String(end) },
      headers: { "content-type": "application/octet-stream" },
      content,
    } as const;
    const answer = await this.#lasting.open(call, gone);
    await answer.body.dump();
  }

  signal({ vm, execution }: ExecutionRef, signal: number, gone: AbortSignal): Promise<ExecutionState> {
    const json = { execution_id: vm.execution_id, signal };
    const call = { method: "POST", path: `${pathOf(vm, execution)}/signal`, json } as const;
    return this.#transport.json(call, shapes.state, new Deadline(CALL_DEADLINE_MS, gone));
  }

  resize(
    { vm, execution }: ExecutionRef,
    size: { readonly cols: number; readonly rows: number },
    gone: AbortSignal,
  ): Promise<ExecutionState> {
    const json = { execution_id: vm.execution_id, ...size };
    const call = { method: "POST", path: `${pathOf(vm, execution)}/resize`, json } as const;
    return this.#transport.json(call, shapes.state, new Deadline(CALL_DEADLINE_MS, gone));
  }
}

function pathOf(vm: VmRef, execution: string): string {
  return `/vms/${encodeURIComponent(vm.id)}/executions/${encodeURIComponent(execution)}`;
}

async function* guarded(
  { body }: Dispatcher.ResponseData,
  gone: AbortSignal,
): AsyncGenerator<OutputEvent, void> {
  try {
    yield* outputEvents(body as AsyncIterable<Buffer>);
  } catch (error) {
    if (error instanceof FrameError || error instanceof RecordError)
      throw new SkerryError("internal", "The host sent an output that cannot be.", { cause: error });
    throw hostErrorOfCall(error, gone);
  }
}

/** The last one is `exit`. Throws what the host or the guest reports, and `host_unavailable` where the answer ends before. */
async function* outputEvents(body: AsyncIterable<Buffer>): AsyncGenerator<OutputEvent, void> {
  const parser = new FrameParser();
  let records: ExecutionRecordParser | undefined;
  for await (const chunk of body)
    for (const frame of parser.push(chunk)) {
      if (frame.type === frameTypes.head) {
        const state = stateOf(frame);
        records = new ExecutionRecordParser(state.at);
        yield { kind: "start", state, position: state.at };
      } else if (frame.type === frameTypes.close) {
        const state = stateOf(frame);
        yield { kind: "exit", state, position: state.position };
        return;
      } else if (frame.type === frameTypes.reset) {
        throw errorFromBody(parseJsonPayload(frame.payload), "The execution failed for an unknown reason.");
      } else if (frame.type === frameTypes.data && records !== undefined) {
        yield* records.push(frame.payload);
      } else if (frame.type !== frameTypes.ping) {
        throw new FrameError(`a frame of type ${frame.type} where output should be`);
      }
    }
  throw new SkerryError("host_unavailable", "The connection to the host ended before the command did.");
}

function stateOf(frame: Frame): ExecutionState {
  const state = parseJsonPayload(frame.payload);
  if (!shapes.state.Check(state)) throw new FrameError("an execution does not match its schema");
  return state;
}
