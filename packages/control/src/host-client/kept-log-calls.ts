import { timedPieces, type TimedPiece } from "@skerry/contract/host-api/timed-console";
import { Deadline } from "./deadline.ts";
import type { HostTransport } from "./host-transport.ts";

const KEEP_DEADLINE_MS = 10_000;
/** Between two pieces. */
const READ_IDLE_MS = 10_000;

interface KeptLog {
  readonly group: string;
  readonly vm: string;
}

export class KeptLogCalls {
  readonly #transport: HostTransport;

  constructor(transport: HostTransport) {
    this.#transport = transport;
  }

  /** Copies the console of a machine that is about to go. Throws `vm_not_found` where it is gone. */
  keep(log: KeptLog, stop?: AbortSignal): Promise<void> {
    const call = { method: "PUT", path: pathOf(log) } as const;
    return this.#transport.done(call, new Deadline(KEEP_DEADLINE_MS, stop));
  }

  /** Throws `vm_not_found` where none is kept. */
  async read(log: KeptLog, gone: AbortSignal): Promise<AsyncIterable<TimedPiece>> {
    const call = { method: "GET", path: pathOf(log), idleMs: READ_IDLE_MS } as const;
    const body: AsyncIterable<Buffer> = (await this.#transport.open(call, gone)).body;
    return timedPieces(body);
  }
}

function pathOf({ group, vm }: KeptLog): string {
  return `/kept-logs/${group}/${vm}`;
}
