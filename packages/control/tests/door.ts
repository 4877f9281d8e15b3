// PostgreSQL behind a door that a test can shut, and open again.

import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** `closed` refuses everybody; `silent` leaves everybody waiting, as a network does that drops packets. */
export type Shut = "closed" | "silent";

export class Door implements AsyncDisposable {
  readonly databaseUrl: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "skerry-door-"));
  readonly #sockets = new Set<Socket>();
  readonly #server;
  #shut: Shut | undefined;

  private constructor(databaseUrl: string) {
    const behind = join(databaseUrl.replace(/.*host=([^&]+).*/, "$1"), ".s.PGSQL.5432");
    this.databaseUrl = databaseUrl.replace(/host=[^&]+/, `host=${this.#folder}`);
    this.#server = createServer((client) => this.#welcome(client, behind));
  }

  static async open(databaseUrl: string): Promise<Door> {
    const door = new Door(databaseUrl);
    door.#server.listen(join(door.#folder, ".s.PGSQL.5432"));
    await once(door.#server, "listening");
    return door;
  }

  /** Nothing passes any more. */
  shut(how: Shut): void {
    this.#shut = how;
    for (const socket of this.#sockets) {
      if (how === "closed") socket.destroy();
      else socket.unpipe().pause();
    }
  }

  /** Who comes now passes; who was left waiting waits on. */
  reopen(): void {
    this.#shut = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.shut("closed");
    this.#server.close();
    await once(this.#server, "close");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #welcome(client: Socket, behind: string): void {
    if (this.#shut === "closed") return void client.destroy();
    const server = connect(behind);
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
    if (this.#shut === undefined) client.pipe(server).pipe(client);
  }
}
