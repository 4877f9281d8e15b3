// The little of DNS messages (RFC 1035) that the lookups of guests need: one question in, an answer with addresses out.

import { parseIpv4 } from "../network/ipv4.ts";

export const recordTypes = { A: 1, AAAA: 28, SVCB: 64, HTTPS: 65 } as const;
export const answerCodes = { good: 0, serverFailure: 2, noSuchName: 3, notImplemented: 4 } as const;

const HEADER_BYTES = 12;
const LABEL_MAX = 63;
const NAME_MAX = 255;
const INTERNET = 1;
/** Query, opcode and all, but for "recursion desired". */
const PLAIN_QUERY = 0xfe;
const RECURSION_DESIRED = 1;
const RESPONSE = 0x80;
const RECURSION_AVAILABLE = 0x80;
/** The name of the question. */
const POINTER = 0xc00c;

export interface Question {
  readonly id: number;
  /** As in the message, less the dot at the end; it may be no name that a policy knows. */
  readonly name: string;
  readonly type: number;
  /** Name, type and class as they were sent, which the answer repeats. */
  readonly bytes: Buffer;
}

/** Undefined for what is no plain query with one question. */
export function readQuestion(query: Buffer): Question | undefined {
  if (query.length < HEADER_BYTES || ((query[2] ?? 0) & PLAIN_QUERY) !== 0 || query.readUInt16BE(4) !== 1)
    return undefined;
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (;;) {
    const length = query[at];
    if (length === undefined || length > LABEL_MAX || at - HEADER_BYTES > NAME_MAX) return undefined;
    at += 1;
    if (length === 0) break;
    labels.push(query.toString("latin1", at, at + length));
    at += length;
  }
  if (query.length < at + 4 || query.readUInt16BE(at + 2) !== INTERNET) return undefined;
  return {
    id: query.readUInt16BE(0),
    name: labels.join("."),
    type: query.readUInt16BE(at),
    bytes: Buffer.from(query.subarray(HEADER_BYTES, at + 4)),
  };
}

/** The question alone, as a query: nothing else that the guest wrote goes on to a name server. */
export function plainQuery({ id, bytes }: Question): Buffer {
  return Buffer.concat([header({ id, flags: [RECURSION_DESIRED, 0], answers: 0 }), bytes]);
}

export function answerTo(
  { id, bytes }: Question,
  code: number,
  { addresses, ttlS }: { readonly addresses: readonly string[]; readonly ttlS: number } = {
    addresses: [],
    ttlS: 0,
  },
): Buffer {
  const flags: [number, number] = [RESPONSE | RECURSION_DESIRED, RECURSION_AVAILABLE | code];
  const records = addresses.map((address) => {
    const record = Buffer.alloc(16);
    record.writeUInt16BE(POINTER, 0);
    record.writeUInt16BE(recordTypes.A, 2);
    record.writeUInt16BE(INTERNET, 4);
    record.writeUInt32BE(ttlS, 6);
    record.writeUInt16BE(4, 10);
    record.writeUInt32BE(parseIpv4(address) ?? 0, 12);
    return record;
  });
  return Buffer.concat([header({ id, flags, answers: records.length }), bytes, ...records]);
}

function header(of: { id: number; flags: readonly [number, number]; answers: number }): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.writeUInt16BE(of.id, 0);
  bytes.set(of.flags, 2);
  bytes.writeUInt16BE(1, 4);
  bytes.writeUInt16BE(of.answers, 6);
  return bytes;
}
