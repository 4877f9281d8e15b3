// Receivers of logs: real servers of syslog over TLS and of OTLP, which take lines, or do what a bad one may.
// And a name server, which says where they are.

import { execFileSync } from "node:child_process";
import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createPlain, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { createServer as createSecure } from "node:https";
import type { AddressInfo, Server, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { createServer as createTls } from "node:tls";

/** A certificate of its own authority for `logs.test`. */
export class Certificate implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "skerry-test-logs-"));
  readonly file = join(this.folder, "cert.pem");
  readonly key: Buffer;
  readonly cert: Buffer;

  constructor(name = "logs.test") {
    const keyFile = join(this.folder, "key.pem");
    const made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", keyFile];
    const subject = ["-subj", `/CN=${name}`, "-addext", `subjectAltName=DNS:${name}`];
    execFileSync("openssl", ["req", "-x509", "-days", "1", ...made, "-out", this.file, ...subject], {
      stdio: "ignore",
    });
    [this.key, this.cert] = [readFileSync(keyFile), readFileSync(this.file)];
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}

type Mode = "takes" | "hangs" | "breaks off";

abstract class Receiver<S extends Server> implements AsyncDisposable {
  protected readonly server: S;
  readonly #sockets = new Set<Socket>();
  mode: Mode = "takes";
  connections = 0;

  constructor(server: S) {
    this.server = server;
    server.on("connection", (socket: Socket) => {
      this.connections += 1;
      this.#sockets.add(socket.on("error", () => undefined));
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  async listen(): Promise<this> {
    this.server.listen(0, "127.0.0.1");
    await once(this.server, "listening");
    return this;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get open(): number {
    return this.#sockets.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

export class SyslogReceiver extends Receiver<ReturnType<typeof createTls>> {
  readonly messages: string[] = [];

  constructor({ key, cert }: Certificate) {
    super(createTls({ key, cert, allowHalfOpen: true }));
    this.server.on("tlsClientError", () => undefined);
    this.server.on("secureConnection", (socket) => {
      socket.on("error", () => undefined);
      if (this.mode === "breaks off") return void socket.destroy();
      if (this.mode === "hangs") return void socket.pause();
      const chunks: Buffer[] = [];
      socket.on("data", (chunk: Buffer) => chunks.push(chunk));
      socket.once("end", () => {
        this.messages.push(...messagesOf(Buffer.concat(chunks)));
        socket.end();
      });
    });
  }

  get url(): string {
    return `syslog+tls://logs.test:${this.port}`;
  }

  /** Texts of the messages. */
  get texts(): string[] {
    return this.messages.map(
      (message) => /^<\d+>1 \S+ \S+ \S+ \S+ \d+ - (.*)$/.exec(message)?.[1] ?? message,
    );
  }
}

/** Octet counting, of RFC 5425. */
function messagesOf(bytes: Buffer): string[] {
  const messages: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const [, digits = ""] = /^([1-9]\d*) /.exec(bytes.toString("latin1", at, at + 12)) ?? [];
    if (digits === "") throw new Error(`no frame at ${at}`);
    const begin = at + digits.length + 1;
    at = begin + Number(digits);
    if (at > bytes.length) throw new Error("a frame that is cut off");
    messages.push(bytes.toString("utf8", begin, at));
  }
  return messages;
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue: string };
}

export interface OtlpBody {
  readonly resourceLogs: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeLogs: readonly {
      readonly logRecords: readonly {
        readonly timeUnixNano?: string;
        readonly severityNumber?: number;
        readonly severityText?: string;
        readonly body: { readonly stringValue: string };
      }[];
    }[];
  }[];
}

export class OtlpReceiver extends Receiver<Server> {
  /** Of all requests, also of those that it has refused. */
  readonly requests: {
    readonly path: string;
    readonly headers: IncomingHttpHeaders;
    readonly body: OtlpBody;
  }[] = [];
  /** How it answers. */
  answer: (response: ServerResponse) => void = (response) => void response.end("{}");
  readonly #isSecure: boolean;

  constructor(certificate?: Certificate) {
    const server = certificate === undefined ? createPlain() : createSecure(certificate);
    super(server as Server);
    this.#isSecure = certificate !== undefined;
    server.on("request", (request, response: ServerResponse) => {
      if (this.mode === "breaks off") return void request.socket.destroy();
      json(request)
        .then((body) => {
          const { url: path = "", headers } = request as { url?: string; headers: IncomingHttpHeaders };
          this.requests.push({ path, headers, body: body as OtlpBody });
          if (this.mode === "takes") this.answer(response);
        })
        .catch(() => undefined);
    });
  }

  get url(): string {
    return this.#isSecure
      ? `https://logs.test:${this.port}/v1/logs`
      : `http://127.0.0.1:${this.port}/v1/logs`;
  }

  get texts(): string[] {
    return this.requests.flatMap(({ body }) => textsOf(body));
  }
}

export function textsOf({ resourceLogs }: OtlpBody): string[] {
  return resourceLogs.flatMap(({ scopeLogs }) =>
    scopeLogs.flatMap(({ logRecords }) => logRecords.map(({ body }) => body.stringValue)),
  );
}

/** Answers questions for addresses from a table. */
export class NameServer implements AsyncDisposable {
  readonly names = new Map<string, readonly string[]>();
  readonly #socket: UdpSocket = createSocket("udp4");

  async listen(): Promise<this> {
    this.#socket.on("message", (question, { port, address }) =>
      this.#socket.send(this.#answer(question), port, address),
    );
    this.#socket.bind(0, "127.0.0.1");
    await once(this.#socket, "listening");
    return this;
  }

  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  #answer(question: Buffer): Buffer {
    const labels: string[] = [];
    let at = 12;
    for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
      labels.push(question.toString("latin1", at + 1, at + 1 + length));
      at += length + 1;
    }
    const end = at + 5;
    const type = question.readUInt16BE(at + 1);
    const all = this.names.get(labels.join(".").toLowerCase()) ?? [];
    const found = all.map(bytesOf).filter((bytes) => bytes.length === (type === 1 ? 4 : 16));
    const head = Buffer.from(question.subarray(0, end));
    head.writeUInt16BE(all.length === 0 ? 0x8183 : 0x8180, 2);
    head.writeUInt16BE(found.length, 6);
    head.writeUInt32BE(0, 8);
    return Buffer.concat([head, ...found.map((bytes) => record(type, bytes))]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => this.#socket.close(() => resolve()));
  }
}

function record(type: number, bytes: Buffer): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(bytes.length, 10);
  return Buffer.concat([head, bytes]);
}

/** IPv6 with all its eight groups, or `::` and the last of them. */
function bytesOf(address: string): Buffer {
  if (!address.includes(":")) return Buffer.from(address.split(".").map(Number));
  const [before = "", after = ""] = address.split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const [first, last] = [groups(before), groups(after)];
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => "0");
  const words = [...first, ...zeros, ...last].map((group) => Number.parseInt(group, 16));
  return Buffer.from(words.flatMap((word) => [word >> 8, word & 0xff]));
}
