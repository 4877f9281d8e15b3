// Connections to the target of a move. The ticket proves that control ordered the move; between machines both
// sides have also shown their certificates.

import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { Readable, type Duplex } from "node:stream";
import { connect as connectTls, type SecureContextOptions, type TLSSocket } from "node:tls";
import { SkerryError } from "@skerry/contract/errors";
import { peerNamed } from "@skerry/contract/joining/host-certificate";
import { MOVE_PROTOCOL, TICKET_HEADER, type MoveStream } from "@skerry/contract/host-api/move-calls";

export interface Destination {
  readonly address: string;
  /** Of the arrival there. */
  readonly path: string;
  readonly ticket: string;
}

const UNIX = "unix:";
const SECURED = /^https:\/\/([a-z0-9_]+)@\[?([^\]]+?)\]?:(\d{1,5})$/;
const ANSWER_MAX_CHARS = 4_096;
const BYTES = "application/octet-stream";

/** Deadline of a connection to the other host. */
export interface PeerLimits {
  readonly connectMs: number;
  /** Until it lets a QEMU in: it may have to start its own first. */
  readonly admitMs: number;
  /** Deadline without progress: the other side takes no byte and sends none. */
  readonly silentMs: number;
}

const usualLimits: PeerLimits = { connectMs: 5_000, admitMs: 60_000, silentMs: 30_000 };

/** TLS credentials of this host; undefined where it belongs to no cluster. */
type Credentials = () => SecureContextOptions | undefined;

export class Peers {
  readonly #credentials: Credentials;
  readonly #limits: PeerLimits;

  constructor(credentials: Credentials, limits: PeerLimits = usualLimits) {
    this.#credentials = credentials;
    this.#limits = limits;
  }

  get silentMs(): number {
    return this.#limits.silentMs;
  }

  /** Connects a QEMU here with one on the other host. */
  async open(to: Destination, stream: MoveStream, signal: AbortSignal): Promise<Duplex> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(this.#limits.admitMs)]);
    const call = await this.#call(to, stream, { method: "GET", signal: deadline });
    call.setHeader("connection", "upgrade").setHeader("upgrade", MOVE_PROTOCOL);
    call.end();
    const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
    call.once("upgrade", (_answer, socket: Duplex, head: Buffer) => {
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    call.once("response", (answer) => void refusalOf(answer).then(reject));
    call.once("error", (error) => reject(unreachable(error)));
    return promise;
  }

  async sendLayer(to: Destination, digest: string, content: Readable, signal: AbortSignal): Promise<void> {
    await this.#put(to, `layers/${digest}`, { content, type: BYTES, signal });
  }

  /** Resolves with what the target says of the file. */
  async sendFile(to: Destination, name: string, content: Readable, signal: AbortSignal): Promise<unknown> {
    const answer = await this.#put(to, `files/${name}`, { content, type: BYTES, signal });
    try {
      return JSON.parse(answer) as unknown;
    } catch {
      return undefined;
    }
  }

  async seal(to: Destination, files: object, signal: AbortSignal): Promise<void> {
    const content = Readable.from([Buffer.from(JSON.stringify(files))]);
    await this.#put(to, "seal", { content, type: "application/json", signal });
  }

  /** Resolves with the body of the answer. */
  async #put(
    to: Destination,
    what: string,
    { content, type, signal }: { content: Readable; type: string; signal: AbortSignal },
  ): Promise<string> {
    const call = await this.#call(to, what, { method: "PUT", signal });
    call.setHeader("content-type", type);
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    call.once("response", (answer) => {
      if (answer.statusCode !== 200 && answer.statusCode !== 204) void refusalOf(answer).then(reject);
      else textOf(answer).then(resolve, (error: unknown) => reject(unreachable(error)));
    });
    call.once("error", (error) => reject(unreachable(error)));
    call.setTimeout(this.#limits.silentMs, () => call.destroy(new Error("it has fallen silent")));
    content.once("error", (error) => call.destroy(error));
    // Or the files that it is read from stay open.
    call.once("close", () => content.destroy());
    content.pipe(call);
    return promise;
  }

  async #call(to: Destination, what: string, init: { method: string; signal: AbortSignal }) {
    const connection = await this.#dial(to.address, init.signal).catch((error: unknown) => {
      throw unreachable(error);
    });
    return request({
      ...init,
      path: `${to.path}/${what}`,
      headers: { host: "host", [TICKET_HEADER]: to.ticket },
      createConnection: () => connection,
    });
  }

  /** Forms of an address: those of control's own directory of hosts. */
  async #dial(address: string, signal: AbortSignal): Promise<Duplex> {
    if (address.startsWith(UNIX)) {
      return this.#connected(connect(address.slice(UNIX.length)), "connect", signal);
    }
    const [, hostId, host, port] = SECURED.exec(address) ?? [];
    const credentials = this.#credentials();
    if (hostId === undefined || host === undefined || credentials === undefined)
      throw new Error("this host cannot reach such an address");
    const socket = connectTls({
      ...credentials,
      ...{ host, port: Number(port) },
      // The name in the certificate is checked below; names of machines say nothing.
      checkServerIdentity: () => undefined,
    });
    await this.#connected(socket, "secureConnect", signal);
    checkHost(socket, hostId);
    return socket;
  }

  /** Closes a connection whose caller has given up. Its error may come minutes later and is ignored. */
  async #connected(socket: Socket, event: string, signal: AbortSignal): Promise<Socket> {
    socket.on("error", () => undefined);
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(this.#limits.connectMs)]);
    try {
      await once(socket, event, { signal: deadline });
      return socket;
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }
}

/** The certificate of the other host is checked before a byte of a VM is sent. */
function checkHost(socket: TLSSocket, hostId: string): void {
  const peer = peerNamed(socket.getPeerX509Certificate()?.subjectAltName);
  if (peer?.role === "host" && peer.id === hostId) return;
  socket.destroy();
  throw new Error("another host answers at the target's address");
}

/** Pipes two sockets into each other until one ends, or has ended already. Bytes sent before the end
 *  arrive. */
export function splice(left: Duplex, right: Duplex): void {
  for (const [from, to] of [
    [left, right],
    [right, left],
  ] as const) {
    from.pipe(to);
    from.once("error", () => to.destroy());
    from.once("close", () => to.end());
    if (from.destroyed) to.destroy();
  }
}

function unreachable(cause: unknown): SkerryError {
  return new SkerryError("move_failed", "The target cannot be reached by the source.", { cause });
}

/** Its beginning, where it is longer than an answer of a host is. */
async function textOf(answer: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of answer.setEncoding("utf8") as AsyncIterable<string>) {
    text += part;
    if (text.length > ANSWER_MAX_CHARS) break;
  }
  answer.destroy();
  return text;
}

async function refusalOf(answer: IncomingMessage): Promise<SkerryError> {
  let text: string;
  try {
    text = await textOf(answer);
  } catch (error) {
    return unreachable(error);
  }
  const why = /"message":"([^"\\]{1,300})"/.exec(text)?.[1] ?? `status ${answer.statusCode}`;
  return new SkerryError("move_failed", `The target refuses it: ${why}`);
}
