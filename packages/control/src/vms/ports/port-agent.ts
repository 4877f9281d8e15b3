// Connections of node's HTTP client to ports of guests, kept for a moment for the next request. Each one that is open keeps its guest awake.

import { Agent, type AgentOptions, type ClientRequest } from "node:http";
import type { Duplex } from "node:stream";

/** Longer than a browser takes between a page and what belongs to it, and shorter than an idle guest is left to run. */
const IDLE_MS = 2_000;
const IDLE_CONNECTIONS_MAX = 8;

/** What a request says of its connection. */
export interface PortTarget {
  /** One incarnation and port. */
  readonly host: string;
  readonly connect: () => Promise<Duplex>;
}

/** Its second argument is there where the first is null, which its type cannot say. */
type Connected = (error: Error | null, connection: Duplex) => void;

export class PortAgent extends Agent {
  readonly #timers = new WeakMap<Duplex, NodeJS.Timeout>();

  constructor({ keepAlive }: Required<Pick<AgentOptions, "keepAlive">>) {
    super({ keepAlive, maxFreeSockets: IDLE_CONNECTIONS_MAX });
  }

  override getName(options?: { host?: string | undefined }): string {
    return options?.host ?? "";
  }

  override createConnection(options: object, connected?: Connected): undefined {
    // Every request of this agent brings a target.
    const { connect } = options as PortTarget;
    const failed = connected as ((error: Error) => void) | undefined;
    connect().then(
      (connection) => connected?.(null, connection),
      (error: unknown) => failed?.(error instanceof Error ? error : new Error(String(error))),
    );
    return undefined;
  }

  override keepSocketAlive(connection: Duplex): boolean {
    this.#timers.set(
      connection,
      setTimeout(() => connection.destroy(), IDLE_MS),
    );
    return true;
  }

  override reuseSocket(connection: Duplex, request: ClientRequest): void {
    clearTimeout(this.#timers.get(connection));
    request.reusedSocket = true;
  }
}
