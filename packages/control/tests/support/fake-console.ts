// The console logs of a fake host.

import type { ServerResponse } from "node:http";
import {
  CONSOLE_FROM,
  PieceWriter,
  TIMED_CONSOLE,
  timedPiece,
  type PlacedPiece,
  type TimedPiece,
} from "@skerry/contract/host-api/timed-console";
import { SkerryError } from "@skerry/contract/errors";
import type { HostCall } from "./fake-http.ts";

export class FakeConsole {
  readonly #logs = new Map<string, Buffer>();
  /** Undefined: the host is of a version that knows no times, and sends what was printed alone. */
  timed: readonly TimedPiece[] | undefined;
  /** As hosts of this version do: times and positions of all that is printed. */
  isPlaced = false;
  readonly #pieces = new Map<string, PlacedPiece[]>();
  /** Positions from which consoles were asked for, and lines otherwise. */
  readonly asked: string[] = [];
  readonly #followers = new Map<string, Set<ServerResponse>>();

  /** What the guest prints. */
  print(id: string, text: string | Buffer, atMs = Date.now()): void {
    const bytes = Buffer.from(text);
    const log = this.#logs.get(id) ?? Buffer.alloc(0);
    const piece = { bytes, atMs, position: log.length };
    this.#logs.set(id, Buffer.concat([log, bytes]));
    this.#pieces.set(id, [...(this.#pieces.get(id) ?? []), piece]);
    for (const follower of this.#followersOf(id)) follower.write(this.isPlaced ? timedPiece(piece) : bytes);
  }

  /** Bytes that followers have not taken. */
  unsent(id: string): number {
    return [...this.#followersOf(id)].reduce((sum, follower) => sum + follower.writableLength, 0);
  }

  /** The host goes away in the middle of what it sends. */
  cut(id: string): void {
    for (const follower of this.#followersOf(id)) follower.destroy();
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
      const id = log.split("/")[1] ?? "";
      this.kept.set(log, this.isPlaced ? this.#from(id, 0) : timedPiece({ bytes, atMs: Date.now() }));
      return void response.writeHead(204).end();
    }
    const kept = this.kept.get(log);
    if (kept === undefined) throw new SkerryError("vm_not_found", "none is kept");
    response.writeHead(200, { "content-type": TIMED_CONSOLE }).end(kept);
  }

  async #send({ id, url, response, request }: Omit<HostCall, "what">): Promise<void> {
    const query = url.searchParams;
    if (this.isAway) throw new SkerryError("host_unavailable", "not now");
    if (this.timed !== undefined && request.headers.accept === TIMED_CONSOLE) {
      response.writeHead(200, { "content-type": TIMED_CONSOLE });
      // Cut where no piece ends.
      const bytes = Buffer.concat(this.timed.map((piece) => timedPiece(piece)));
      for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7));
      return void response.end();
    }
    if (this.isPlaced) return this.#sendPlaced({ id, url, response, request });
    const lines = (this.#logs.get(id) ?? Buffer.alloc(0)).toString("latin1").split(/(?<=\n)/);
    const wanted = Number(query.get("lines"));
    response.writeHead(200, { "content-type": "application/octet-stream" }).flushHeaders();
    if (wanted > 0) response.write(Buffer.from(lines.slice(-wanted).join(""), "latin1"));
    if (query.get("follow") !== "true") return void response.end();
    this.#followersOf(id).add(response);
    response.once("close", () => this.#followersOf(id).delete(response));
  }

  /** With `lines`, from where that many of the last lines begin. */
  #sendPlaced({ id, url: { searchParams: query }, response, request }: Omit<HostCall, "what">): void {
    const log = (this.#logs.get(id) ?? Buffer.alloc(0)).toString("latin1");
    const last = log.split(/(?<=\n)/).slice(-Number(query.get("lines")));
    const asked = request.headers[CONSOLE_FROM];
    this.asked.push(`${id} ${String(asked ?? `lines=${query.get("lines")}`)}`);
    const from = Number(asked ?? log.length - last.join("").length);
    response.writeHead(200, { "content-type": TIMED_CONSOLE });
    response.write(this.#from(id, from > log.length ? 0 : from));
    if (query.get("follow") !== "true") return void response.end();
    this.#followersOf(id).add(response);
    response.once("close", () => this.#followersOf(id).delete(response));
  }

  #from(id: string, from: number): Buffer {
    const writer = new PieceWriter();
    const left = (this.#pieces.get(id) ?? []).flatMap(({ bytes, atMs, position }) => {
      const cut = Math.max(0, from - position);
      return cut >= bytes.length ? [] : [{ bytes: bytes.subarray(cut), atMs, position: position + cut }];
    });
    const begin = { bytes: Buffer.alloc(0), atMs: undefined, position: from };
    return Buffer.concat([begin, ...left].map((piece) => writer.written(piece)));
  }

  /** The machine is destroyed. */
  end(id: string): void {
    this.#logs.delete(id);
    this.#pieces.delete(id);
    for (const follower of this.#followersOf(id)) follower.end();
  }

  #followersOf(id: string): Set<ServerResponse> {
    const followers = this.#followers.get(id) ?? new Set();
    this.#followers.set(id, followers);
    return followers;
  }
}
