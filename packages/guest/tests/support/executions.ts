// Executions of an agent that runs beside the test.
import { setTimeout as sleep } from "node:timers/promises";

import { ExecutionRecordParser, type ExecutionRecord } from "@skerry/contract/guest-api/execution-records";
import type { StartOperation } from "@skerry/contract/guest-api/guest-operations";

import type { AgentLink, Ended, Operation } from "./agent-link.ts";

const START: StartOperation = {
  op: "start",
  execution: "exe_one",
  command: "true",
  env: {},
  timeout_ms: 20_000,
  stdin: false,
  tty: false,
  cols: 80,
  rows: 24,
  reattach_ms: -1,
};

export class Executions {
  readonly #link: AgentLink;

  constructor(link: AgentLink) {
    this.#link = link;
  }

  start(command: string, options: Partial<StartOperation> = {}): Promise<Ended> {
    return this.#link.open({ ...START, command, ...options }).ended;
  }

  follow(after = 0, { hold = false, execution = "exe_one" } = {}): Operation {
    return this.#link.open({ op: "follow", execution, after, hold });
  }

  input(execution = "exe_one", end = false): Operation {
    return this.#link.open({ op: "input", execution, end });
  }

  signal(signal: number, execution = "exe_one"): Promise<Ended> {
    return this.#link.open({ op: "signal", execution, signal }).ended;
  }

  async get(execution = "exe_one"): Promise<Ended["result"]> {
    return (await this.#link.open({ op: "execution", execution }).ended).result;
  }

  /** In the order in which they were started. */
  async list(): Promise<readonly { readonly execution: string; readonly command: string }[]> {
    const { stdout } = await this.#link.open({ op: "executions" }).ended;
    const lines = stdout.toString().split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as { execution: string; command: string });
  }

  /** Waits until the agent tells this of the execution. */
  async until(shape: Readonly<Record<string, unknown>>, execution = "exe_one"): Promise<void> {
    for (let waited = 0; waited < 2_000; waited += 1) {
      // oxlint-disable-next-line no-await-in-loop -- a wait
      const result = await this.get(execution);
      if (Object.entries(shape).every(([name, value]) => result[name] === value)) return;
      // oxlint-disable-next-line no-await-in-loop
      await sleep(5);
    }
    throw new Error(`the execution has never been ${JSON.stringify(shape)}`);
  }
}

interface Output {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly dropped: readonly ExecutionRecord[];
  readonly position: number;
}

export function readRecords(bytes: Buffer, at: number): Output {
  const parser = new ExecutionRecordParser(at);
  const records = [...parser.push(bytes)];
  const of = (kind: string): Buffer =>
    Buffer.concat(records.flatMap((one) => (one.kind === kind && "bytes" in one ? [one.bytes] : [])));
  return {
    stdout: of("stdout"),
    stderr: of("stderr"),
    dropped: records.filter(({ kind }) => kind === "dropped"),
    position: parser.position,
  };
}

/** What a reader got. */
export function outputOf({ head, stdout }: Ended): Output {
  return readRecords(stdout, Number(head?.["at"]));
}
