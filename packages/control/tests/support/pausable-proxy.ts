// A proxy before PostgreSQL's socket that a test can pause and resume.

import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** `closed` ends connections and refuses new ones; `silent` leaves clients without an answer, as a network does that drops packets. */
export type Pause = "closed" | "silent";

export class PausableProxy implements AsyncDisposable {
  readonly databaseUrl: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "skerry-proxy-"));
  readonly #sockets = new Set<Socket>();
  readonly #server;
  #paused: Pause | undefined;

  private constructor(databaseUrl: string) {
    const target = join(databaseUrl.replace(/.*host=([^&]+).*/, "$1"), ".s.PGSQL.5432");
    this.databaseUrl = databaseUrl.replace(/host=[^&]+/, `host=${this.#folder}`);
    this.#server = createServer((client) => this.#accept(client, target));
  }

  static async open(databaseUrl: string): Promise<PausableProxy> {
    const proxy = new PausableProxy(databaseUrl);
    proxy.#server.listen(join(proxy.#folder, ".s.PGSQL.5432"));
    await once(proxy.#server, "listening");
    return proxy;
  }

  /** No bytes pass any more. */
  pause(how: Pause): void {
    this.#paused = how;
    for (const socket of this.#sockets) {
      if (how === "closed") socket.destroy();
      else socket.unpipe().pause();
    }
  }

  /** New connections pass; those that were left without an answer stay so. */
  resume(): void {
    this.#paused = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.pause("closed");
    this.#server.close();
    await once(this.#server, "close");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #accept(client: Socket, target: string): void {
    if (this.#paused === "closed") return void client.destroy();
    const server = connect(target);
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket
        .on("error", () => undefined)
        .once("close", () => {
          this.#sockets.delete(socket);
          client.destroy();
          server.destroy();
        });
    }
    if (this.#paused === undefined) client.pipe(server).pipe(client);
  }
}
