// A proxy before control that keeps each request and its answer, whichever client has made it.

import { once } from "node:events";
import { createServer, request as requestTo, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

export interface Exchange {
  readonly method: string;
  readonly url: URL;
  /** Body of the request. */
  sent: string;
  /** 0 until there is an answer, and of an upgrade. */
  status: number;
  type: string;
  /** Body of the answer. */
  text: string;
}

export class RecordingProxy implements AsyncDisposable {
  readonly exchanges: Exchange[] = [];
  readonly #target: URL;
  readonly #upgraded = new Set<Duplex>();
  readonly #server = createServer((request, response) => this.#pass(request, response));

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server.on("upgrade", (request: IncomingMessage, socket: Duplex) => this.#join(request, socket));
  }

  static async before(target: string): Promise<RecordingProxy> {
    const proxy = new RecordingProxy(target);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #recorded({ method = "", url = "" }: IncomingMessage): Exchange {
    const exchange = { method, url: new URL(url, this.#target), sent: "", status: 0, type: "", text: "" };
    this.exchanges.push(exchange);
    return exchange;
  }

  #pass(request: IncomingMessage, response: ServerResponse): void {
    const exchange = this.#recorded(request);
    const { method, headers } = request;
    const onward = requestTo(exchange.url, { method, headers }, (answer) => {
      exchange.status = answer.statusCode ?? 0;
      exchange.type = answer.headers["content-type"] ?? "";
      response.writeHead(exchange.status, answer.headers);
      answer.on("data", (piece: Buffer) => (exchange.text += piece.toString())).pipe(response);
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    request.on("data", (piece: Buffer) => (exchange.sent += piece.toString())).pipe(onward);
  }

  #join(request: IncomingMessage, client: Duplex): void {
    this.#recorded(request);
    const server = connect({ host: this.#target.hostname, port: Number(this.#target.port) });
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#upgraded.add(socket);
      socket
        .on("error", () => undefined)
        .once("close", () => {
          this.#upgraded.delete(socket);
          other.destroy();
        });
    }
    const lines = [`${request.method} ${request.url} HTTP/1.1`];
    for (let at = 0; at < request.rawHeaders.length; at += 2)
      lines.push(`${request.rawHeaders[at]}: ${request.rawHeaders[at + 1]}`);
    server.write(`${lines.join("\r\n")}\r\n\r\n`);
    client.pipe(server).pipe(client);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#upgraded) socket.destroy();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
