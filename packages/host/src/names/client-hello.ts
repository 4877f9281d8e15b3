// Reads the name that a TLS client asks for (SNI, RFC 6066 section 3) out of the bytes that it sends first. Nothing is decrypted. What is
// not a whole, plain ClientHello with exactly one name is refused: what the server would read must be what was read here.

export type HelloResult =
  | { readonly kind: "name"; readonly name: string; readonly protocols: readonly string[] }
  /** `bytes`: how many there must be before it is worth reading again. */
  | { readonly kind: "more"; readonly bytes: number }
  | { readonly kind: "refused"; readonly why: string };

export interface Hello {
  /** All that the client has sent so far. */
  readonly bytes: Buffer;
  readonly name: string | undefined;
  readonly protocols: readonly string[];
}

/** A ClientHello with post-quantum keys and tickets has some 2 KiB. */
export const HELLO_MAX_BYTES = 32 * 1_024;
/** A client that cuts its hello into more records wants to cost time. */
const RECORDS_MAX = 32;
const RECORD_HEADER = 5;
const HANDSHAKE_HEADER = 4;
const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const ENCRYPTED_CLIENT_HELLO = 0xfe0d;
const HOST_NAME = 0;
/** Names of protocols (RFC 7301). */
const PROTOCOLS = 16;

/** The bytes end before they should. */
class Short extends Error {
  override readonly name = "Short";
}

/** `bytes`: all that the client has sent so far. */
export function readClientHello(bytes: Buffer): HelloResult {
  let message = Buffer.alloc(0);
  let at = 0;
  for (let records = 0; records < RECORDS_MAX; records += 1) {
    const record = recordAt(bytes, at);
    if (record.kind !== "record") return record;
    at += RECORD_HEADER + record.data.length;
    message = Buffer.concat([message, record.data]);
    const result = message.length < HANDSHAKE_HEADER ? undefined : resultOf(message);
    if (result !== undefined) return result;
  }
  return refused("its ClientHello is in too many records");
}

type RecordResult =
  | { readonly kind: "record"; readonly data: Buffer }
  | Exclude<HelloResult, { kind: "name" }>;

function recordAt(bytes: Buffer, at: number): RecordResult {
  if (bytes.length > at && bytes[at] !== HANDSHAKE) return refused("it does not begin as TLS does");
  if (bytes.length < at + RECORD_HEADER) return more(at + RECORD_HEADER);
  if (bytes[at + 1] !== 3) return refused("its version of TLS is unknown");
  const length = bytes.readUInt16BE(at + 3);
  if (length === 0) return refused("a record is empty");
  const end = at + RECORD_HEADER + length;
  if (end > HELLO_MAX_BYTES) return refused("its ClientHello is too long");
  if (bytes.length < end) return more(end);
  return { kind: "record", data: bytes.subarray(at + RECORD_HEADER, end) };
}

/** Of the first message of a handshake, with its header; undefined where it goes on in the next record. */
function resultOf(message: Buffer): HelloResult | undefined {
  if (message[0] !== CLIENT_HELLO) return refused("it does not begin with a ClientHello");
  const needed = HANDSHAKE_HEADER + message.readUIntBE(1, 3);
  if (needed > HELLO_MAX_BYTES) return refused("its ClientHello is too long");
  if (message.length > needed) return refused("something follows its ClientHello in the same record");
  return message.length === needed ? nameIn(message.subarray(HANDSHAKE_HEADER)) : undefined;
}

function more(bytes: number): Extract<HelloResult, { kind: "more" }> {
  return { kind: "more", bytes };
}

function refused(why: string): Extract<HelloResult, { kind: "refused" }> {
  return { kind: "refused", why };
}

function nameIn(hello: Buffer): HelloResult {
  try {
    return nameOf(new Cursor(hello));
  } catch (error) {
    if (error instanceof Short) return refused("its ClientHello is malformed");
    throw error;
  }
}

function nameOf(hello: Cursor): HelloResult {
  hello.take(2 + 32); // version and random
  hello.vector(1); // session id
  hello.vector(2); // cipher suites
  hello.vector(1); // compression
  if (hello.left === 0) return refused("it names no server");
  const extensions = hello.vector(2);
  if (hello.left > 0) return refused("its ClientHello is malformed");
  let name: string | undefined;
  let protocols: readonly string[] = [];
  while (extensions.left > 0) {
    const type = extensions.number(2);
    const data = extensions.vector(2);
    if (type === ENCRYPTED_CLIENT_HELLO) return refused("its ClientHello is encrypted");
    if (type === PROTOCOLS) protocols = protocolsIn(data);
    if (type !== SERVER_NAME) continue;
    if (name !== undefined) return refused("it names a server twice");
    const list = data.vector(2);
    const isHostName = list.number(1) === HOST_NAME;
    name = list.vector(2).rest().toString("latin1");
    if (!isHostName || list.left > 0 || data.left > 0) return refused("its server name is malformed");
  }
  return name === undefined ? refused("it names no server") : { kind: "name", name, protocols };
}

function protocolsIn(data: Cursor): string[] {
  const list = data.vector(2);
  const found: string[] = [];
  while (list.left > 0) found.push(list.vector(1).rest().toString("latin1"));
  return found;
}

class Cursor {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  take(length: number): Buffer {
    if (length > this.left) throw new Short("the bytes end too early");
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  rest(): Buffer {
    return this.take(this.left);
  }

  number(size: number): number {
    return this.take(size).readUIntBE(0, size);
  }

  /** As many bytes as the number before them says, which has `size` bytes. */
  vector(size: number): Cursor {
    return new Cursor(this.take(this.number(size)));
  }
}
