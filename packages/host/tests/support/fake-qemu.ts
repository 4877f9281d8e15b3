// A QEMU of which there is only the control socket: it agrees to everything, and remembers what it was told.

import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";

export class FakeQemu implements AsyncDisposable {
  readonly told: string[] = [];
  /** Whether its guest goes on or stands still. */
  status: "running" | "paused" = "paused";
  /** Runs before a command is answered, and before all that come after it are. */
  before: (command: string) => Promise<void> = async () => undefined;
  readonly #server: Server;
  readonly #greets: boolean;
  readonly #sockets = new Set<Socket>();

  private constructor(greets: boolean) {
    this.#greets = greets;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  /** One that does not greet stands still. */
  static async listen(path: string, { greets = true } = {}): Promise<FakeQemu> {
    const qemu = new FakeQemu(greets);
    qemu.#server.listen(path);
    await once(qemu.#server, "listening");
    return qemu;
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket.on("error", () => undefined));
    if (this.#greets) socket.write('{"QMP":{}}\n');
    let last = Promise.resolve();
    const lines = createInterface(socket).on("error", () => undefined);
    lines.on("line", (line) => {
      const { execute } = JSON.parse(line) as { execute: string };
      this.told.push(execute);
      last = Promise.all([last, this.before(execute)]).then(() => {
        socket.write(`{"return":{"status":"${this.status}"}}\n`);
      });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
