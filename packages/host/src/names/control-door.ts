// The host's way to the name proxy: a unix socket that only root opens. What the host says is done before it is answered.

import { createServer, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type {
  NameProxyAnswer,
  NameProxyHello,
  NameProxyOpening,
  NameProxyRequest,
} from "../network/name-proxy-protocol.ts";
import type { Guests } from "./guests.ts";

/** A lookup waits no longer for the host. */
const OPENED_WITHIN_MS = 1_000;
/** That the host works on, also where no lookup waits for them any more. */
const OPENINGS_MAX = 512;

export class ControlDoor {
  readonly server: Server;
  readonly #identity: string;
  readonly #guests: Guests;
  readonly #end = Promise.withResolvers<void>();
  readonly #opening = new Map<number, () => void>();
  #openings = 0;
  #host: Socket | undefined;

  constructor(identity: string, guests: Guests) {
    this.#identity = identity;
    this.#guests = guests;
    this.server = createServer((host) => this.#take(host));
  }

  get hasHost(): boolean {
    return this.#host !== undefined;
  }

  /** Resolves when the host has asked for the end. */
  get ended(): Promise<void> {
    return this.#end.promise;
  }

  /** Resolves when the host has opened the addresses, or does not in time, or has too much to open, or there is none. Nothing but HTTP and TLS gets there then. */
  async open(led: Omit<NameProxyOpening, "opening">): Promise<void> {
    if (this.#host === undefined || this.#opening.size >= OPENINGS_MAX) return;
    const opening = (this.#openings += 1);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#opening.set(opening, resolve);
    const deadline = setTimeout(resolve, OPENED_WITHIN_MS);
    const line: NameProxyOpening = { opening, ...led };
    this.#host.write(`${JSON.stringify(line)}\n`);
    await promise;
    clearTimeout(deadline);
  }

  /** There is one host process; the last one to come is it. */
  #take(host: Socket): void {
    this.#host?.destroy();
    this.#host = host;
    this.#forgetOpenings();
    this.#guests.expectRenewal();
    host.on("error", () => host.destroy());
    host.once("close", () => {
      if (this.#host !== host) return;
      this.#host = undefined;
      this.#forgetOpenings();
    });
    const hello: NameProxyHello = { identity: this.#identity };
    host.write(`${JSON.stringify(hello)}\n`);
    createInterface({ input: host }).on("line", (line) => {
      const answer = this.#do(JSON.parse(line) as NameProxyRequest);
      host.write(`${JSON.stringify(answer)}\n`);
    });
  }

  #forgetOpenings(): void {
    for (const resolve of this.#opening.values()) resolve();
    this.#opening.clear();
  }

  #opened(opening: number): void {
    this.#opening.get(opening)?.();
    this.#opening.delete(opening);
  }

  #do(request: NameProxyRequest): NameProxyAnswer {
    const { id } = request;
    if ("set" in request) this.#guests.set(request.set);
    if ("forget" in request) this.#guests.forget(request.forget);
    if ("denials" in request) {
      const { denied = [], injected = [] } = this.#guests.get(request.denials) ?? {};
      return { id, denied, injected };
    }
    if ("opened" in request) this.#opened(request.opened);
    if ("end" in request) this.#end.resolve();
    return { id };
  }
}
