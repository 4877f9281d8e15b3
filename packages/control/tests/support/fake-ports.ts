// The ports of a fake host's guests: real sockets and servers in the test's hands, behind the host API's frames.

import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { SkerryError } from "@skerry/contract/errors";
import { encodeJson, frameTypes } from "@skerry/contract/frames";
import { PORT_PROTOCOL, type ListeningPort } from "@skerry/contract/host-api/ports";
import type { FakeHostState } from "./fake-host-state.ts";
import { sendJson, type HostCall } from "./fake-http.ts";
import { PortConnection } from "../../src/host-client/port-connection.ts";

type OnConnection = (connection: PortConnection) => void;

const PATH = /^\/vms\/([^/]+)\/ports\/(\d+)\?execution_id=(.+)$/;
const STREAM = 1;

/** What listens on this one says hello to every request. */
export const FRIENDLY_PORT = 8080;

export class FakePorts {
  listening: ListeningPort[] = [];
  /** Its guests do not say what listens. */
  isAway = false;
  readonly #ports = new Map<number, OnConnection>([[FRIENDLY_PORT, sayHello]]);
  readonly #open = new Set<Duplex>();
  /** Connections so far. */
  connections = 0;

  /** Undefined: the call is not about ports. Connections to them are upgrades, which `accept` takes. */
  serve(host: FakeHostState, { id, what, url, response }: HostCall): Promise<void> | undefined {
    if (what !== "GET ports") return undefined;
    host.require(id, url.searchParams.get("execution_id"));
    if (this.isAway) throw new SkerryError("guest_failed", "The guest does not answer.");
    sendJson(response, 200, { items: this.listening, truncated: false });
    return Promise.resolve();
  }

  listen(port: number, onConnection: OnConnection): void {
    this.#ports.set(port, onConnection);
  }

  /** What comes to the port goes to this one of the machine that tests run on. */
  lead(port: number, to: number): void {
    this.listen(port, (connection) => {
      const socket = connect({ port: to, host: "127.0.0.1", allowHalfOpen: true });
      socket.on("error", () => connection.destroy());
      connection.once("close", () => socket.destroy());
      connection.pipe(socket).pipe(connection);
    });
  }

  /** Connections that are open. */
  get open(): number {
    return this.#open.size;
  }

  /** `check` throws where there is no such VM. */
  accept(request: IncomingMessage, socket: Duplex, check: (id: string, executionId: string) => void): void {
    const [, id = "", port, executionId = ""] = PATH.exec(request.url ?? "") ?? [];
    socket.on("error", () => undefined);
    if (request.headers.upgrade !== PORT_PROTOCOL || port === undefined) return void socket.destroy();
    socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: skerry-port\r\n\r\n");
    try {
      check(id, executionId);
      const onConnection = this.#ports.get(Number(port));
      if (onConnection === undefined) throw new SkerryError("port_not_listening", "nothing listens");
      socket.write(encodeJson(frameTypes.head, STREAM, {}));
      this.connections += 1;
      this.#open.add(socket);
      socket.once("close", () => this.#open.delete(socket));
      const connection = new PortConnection(socket, { grants: true });
      connection.on("error", () => undefined);
      connection.once("close", () => socket.end());
      onConnection(connection);
    } catch (error) {
      socket.end(encodeJson(frameTypes.reset, STREAM, (error as SkerryError).toBody()));
    }
  }
}

function sayHello(connection: PortConnection): void {
  const head = "HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\ncontent-length: 5\r\n\r\n";
  connection.on("data", () => connection.write(`${head}hello`));
}
