// Servers on ports of a fake host's guest, and requests that are led to them.

import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeAll } from "vitest";
import type { PortConnection } from "../../src/host-client/port-connection.ts";
import type { World } from "./world.ts";

interface TypedError {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly remediation: string;
}

export async function errorOf(answer: Response): Promise<TypedError> {
  return { ...((await answer.json()) as TypedError), status: answer.status };
}

/** A sandbox of the world, for all tests of a file. */
export class GuestPorts {
  readonly #world: World;
  #last = 20_000;
  id = "";

  constructor(world: World) {
    this.#world = world;
    beforeAll(async () => {
      this.id = (await world.createSandbox({ timeout: "1h" })).id;
    });
  }

  /** A port that this server listens on. */
  async serve(listener: RequestListener): Promise<number> {
    const server = createServer(listener).listen(0, "127.0.0.1");
    await once(server, "listening");
    this.#world.after(async () => {
      server.closeAllConnections();
      server.close();
    });
    this.#last += 1;
    this.#world.host.ports.lead(this.#last, (server.address() as AddressInfo).port);
    return this.#last;
  }

  /** A port whose connections are in the test's hands. */
  listen(onConnection: (connection: PortConnection) => void): number {
    this.#last += 1;
    this.#world.host.ports.listen(this.#last, onConnection);
    return this.#last;
  }

  /** A port that answers each connection with these bytes, whatever is asked, and ends it. */
  answerRaw(bytes: string | Buffer): number {
    return this.listen((connection) => {
      connection.once("data", () => connection.end(bytes));
    });
  }

  path(port: number, rest = "/"): string {
    return `/v1/sandboxes/${this.id}/ports/${port}${rest}`;
  }

  async get(port: number, rest = "/", init: RequestInit = {}): Promise<Response> {
    const headers = {
      authorization: `Bearer ${this.#world.token}`,
      ...(init.headers as Record<string, string>),
    };
    return fetch(this.#world.url + this.path(port, rest), { ...init, headers });
  }
}
