// The host's way to the name proxy: a unix socket that only root opens. What the host says is done before it is answered.

import { createServer, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { NameProxyAnswer, NameProxyHello, NameProxyRequest } from "../network/name-proxy-protocol.ts";
import type { Guests } from "./guests.ts";

export class ControlDoor {
  readonly server: Server;
  readonly #identity: string;
  readonly #guests: Guests;
  readonly #end = Promise.withResolvers<void>();
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

  /** There is one host process; the last one to come is it. */
  #take(host: Socket): void {
    this.#host?.destroy();
    this.#host = host;
    this.#guests.expectRenewal();
    host.on("error", () => host.destroy());
    host.once("close", () => {
      if (this.#host === host) this.#host = undefined;
    });
    const hello: NameProxyHello = { identity: this.#identity };
    host.write(`${JSON.stringify(hello)}\n`);
    createInterface({ input: host }).on("line", (line) => {
      const answer = this.#do(JSON.parse(line) as NameProxyRequest);
      host.write(`${JSON.stringify(answer)}\n`);
    });
  }

  #do(request: NameProxyRequest): NameProxyAnswer {
    const { id } = request;
    if ("set" in request) this.#guests.set(request.set);
    if ("forget" in request) this.#guests.forget(request.forget);
    if ("denials" in request) return { id, denied: this.#guests.get(request.denials)?.denied ?? [] };
    if ("end" in request) this.#end.resolve();
    return { id };
  }
}
