// The console logs of a fake host.

import type { ServerResponse } from "node:http";
import { TIMED_CONSOLE, timedPiece, type TimedPiece } from "@skerry/contract/host-api/timed-console";
import { SkerryError } from "@skerry/contract/errors";
import type { HostCall } from "./fake-http.ts";

export class FakeConsole {
  readonly #logs = new Map<string, Buffer>();
  /** Undefined: the host is of a version that knows no times, and sends what was printed alone. */
  timed: readonly TimedPiece[] | undefined;
  readonly #followers = new Map<string, Set<ServerResponse>>();

  /** What the guest prints. */
  print(id: string, bytes: string | Buffer): void {
    const piece = Buffer.from(bytes);
    this.#logs.set(id, Buffer.concat([this.#logs.get(id) ?? Buffer.alloc(0), piece]));
    for (const follower of this.#followersOf(id)) follower.write(piece);
  }

  followers(id: string): number {
    return this.#followersOf(id).size;
  }

  /** Calls for consoles, or to keep them, are answered as by a host that is away. */
  isAway = false;
  keepsNone = false;
  /** Logs of machines that are gone, by group and machine. */
  readonly kept = new Map<string, Buffer>();

  /** Undefined: the call is not about a console. */
  serve(call: HostCall): Promise<void> | undefined {
    const [, log] = /^\/kept-logs\/(.*)$/.exec(call.url.pathname) ?? [];
    if (log !== undefined) return this.#keep(call, log);
    return call.what === "GET console" ? this.#send(call) : undefined;
  }

  async #keep({ request, response }: HostCall, log: string): Promise<void> {
    const bytes = this.#logs.get(log.split("/")[1] ?? "") ?? Buffer.alloc(0);
    if (request.method === "PUT") {
      if (this.keepsNone) throw new SkerryError("host_unavailable", "not now");
      this.kept.set(log, timedPiece({ bytes, atMs: Date.now() }));
      return void response.writeHead(204).end();
    }
    const kept = this.kept.get(log);
    if (kept === undefined) throw new SkerryError("vm_not_found", "none is kept");
    response.writeHead(200, { "content-type": TIMED_CONSOLE }).end(kept);
  }

  async #send({ id, url: { searchParams: query }, response, request }: HostCall): Promise<void> {
    if (this.isAway) throw new SkerryError("host_unavailable", "not now");
    if (this.timed !== undefined && request.headers.accept === TIMED_CONSOLE) {
      response.writeHead(200, { "content-type": TIMED_CONSOLE });
      // Cut where no piece ends.
      const bytes = Buffer.concat(this.timed.map((piece) => timedPiece(piece)));
      for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7));
      return void response.end();
    }
    const lines = (this.#logs.get(id) ?? Buffer.alloc(0)).toString("latin1").split(/(?<=\n)/);
    const wanted = Number(query.get("lines"));
    response.writeHead(200, { "content-type": "application/octet-stream" }).flushHeaders();
    if (wanted > 0) response.write(Buffer.from(lines.slice(-wanted).join(""), "latin1"));
    if (query.get("follow") !== "true") return void response.end();
    this.#followersOf(id).add(response);
    response.once("close", () => this.#followersOf(id).delete(response));
  }

  /** The machine is destroyed. */
  end(id: string): void {
    this.#logs.delete(id);
    for (const follower of this.#followersOf(id)) follower.end();
  }

  #followersOf(id: string): Set<ServerResponse> {
    const followers = this.#followers.get(id) ?? new Set();
    this.#followers.set(id, followers);
    return followers;
  }
}
