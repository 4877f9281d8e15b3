// ClientHellos written by hand, for the ways in which one may be wrong.

export interface HelloParts {
  /** In server name extensions, one each. */
  readonly names?: readonly string[];
  readonly isEncrypted?: boolean;
  /** Bytes of one more extension (padding, RFC 7685). */
  readonly padding?: number;
  /** Bytes of the handshake in each record. */
  readonly recordBytes?: number;
}

export function clientHello({
  names = [],
  isEncrypted = false,
  padding = 0,
  recordBytes = 16_384,
}: HelloParts): Buffer {
  const extensions = [
    ...names.map((name) =>
      extension(0, sized(2, Buffer.concat([Buffer.from([0]), sized(2, Buffer.from(name))]))),
    ),
    ...(isEncrypted ? [extension(0xfe0d, Buffer.alloc(40, 1))] : []),
    ...(padding > 0 ? [extension(21, Buffer.alloc(padding))] : []),
  ];
  const hello = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32, 7),
    sized(1, Buffer.alloc(0)),
    sized(2, Buffer.from([0x13, 0x01])),
    sized(1, Buffer.from([0])),
    sized(2, Buffer.concat(extensions)),
  ]);
  const handshake = Buffer.concat([Buffer.from([1]), sized(3, hello)]);
  const records: Buffer[] = [];
  for (let at = 0; at < handshake.length; at += recordBytes)
    records.push(
      Buffer.concat([Buffer.from([22, 3, 1]), sized(2, handshake.subarray(at, at + recordBytes))]),
    );
  return Buffer.concat(records);
}

function extension(type: number, data: Buffer): Buffer {
  return Buffer.concat([Buffer.from([type >> 8, type & 0xff]), sized(2, data)]);
}

function sized(bytes: number, data: Buffer): Buffer {
  const length = Buffer.alloc(bytes);
  length.writeUIntBE(data.length, 0, bytes);
  return Buffer.concat([length, data]);
}
