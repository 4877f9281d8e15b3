// One header of a tar archive, 512 bytes: ustar with GNU's long names and binary sizes, which every tar in use reads and writes.

import { bytesOfName, nameOfBytes } from "./byte-names.ts";

export const BLOCK_BYTES = 512;

const types = {
  "0": "file",
  "\0": "file",
  "7": "file",
  "1": "hard link",
  "2": "link",
  "3": "character device",
  "4": "block device",
  "5": "directory",
  "6": "pipe",
  g: "pax of all",
  x: "pax",
  K: "long link name",
  L: "long name",
} as const;

export type EntryType = (typeof types)[keyof typeof types];

export interface TarHeader {
  readonly type: EntryType;
  readonly name: string;
  /** Of a link, what it leads to. */
  readonly target: string;
  /** Permissions, with setuid, setgid and sticky. */
  readonly mode: number;
  readonly bytes: number;
  /** In seconds since 1970. */
  readonly modifiedS: number;
}

const NAME_BYTES = 100;

/** What cannot be one, or cannot be understood. */
export class TarFormatError extends Error {
  override readonly name = "TarFormatError";
}

/** Undefined for a block of zeros, which ends an archive. */
export function readHeader(block: Buffer): TarHeader | undefined {
  if (block.every((byte) => byte === 0)) return undefined;
  if (checksumOf(block) !== numberAt(block, 148, 8))
    throw new TarFormatError("it is no tar archive, or is damaged");
  const type = types[block.toString("latin1", 156, 157) as keyof typeof types] as EntryType | undefined;
  if (type === undefined) throw new TarFormatError("it has an entry of a kind that is not known");
  const prefix = block.toString("latin1", 257, 263) === "ustar\0" ? textAt(block, 345, 155) : "";
  const name = textAt(block, 0, NAME_BYTES);
  return {
    type,
    name: prefix === "" ? name : `${prefix}/${name}`,
    target: textAt(block, 157, NAME_BYTES),
    mode: numberAt(block, 100, 8) & 0o7777,
    bytes: type === "file" || isAboutNext(type) ? numberAt(block, 124, 12) : 0,
    modifiedS: numberAt(block, 136, 12),
  };
}

/** Says something about the entry that follows. */
export function isAboutNext(type: EntryType): boolean {
  return type === "pax" || type === "pax of all" || type === "long name" || type === "long link name";
}

const codes = { file: "0", link: "2", directory: "5" } as const;

/** As root owns it. A long name, or target, is an entry of its own before it. */
export function writeHeader(header: TarHeader & { readonly type: keyof typeof codes }): Buffer {
  return Buffer.concat([
    ...longText("L", header.name),
    ...longText("K", header.target),
    block({ ...header, code: codes[header.type] }),
  ]);
}

function longText(code: "L" | "K", text: string): Buffer[] {
  const bytes = bytesOfName(`${text}\0`);
  if (bytes.length <= NAME_BYTES) return [];
  const about = { code, name: "././@LongLink", target: "", mode: 0, bytes: bytes.length, modifiedS: 0 };
  return [block(about), bytes, Buffer.alloc(paddingOf(bytes.length))];
}

/** What fills up the last block of so many bytes. */
export function paddingOf(bytes: number): number {
  return (BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES;
}

function block(fields: Omit<TarHeader, "type"> & { readonly code: string }): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  bytesOfName(fields.name).copy(header, 0, 0, NAME_BYTES);
  header.write(octal(fields.mode, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  if (fields.bytes < 8 ** 11) header.write(octal(fields.bytes, 11), 124);
  else {
    header.writeUInt8(0x80, 124);
    header.writeBigUInt64BE(BigInt(fields.bytes), 128);
  }
  header.write(octal(Math.max(0, Math.floor(fields.modifiedS)), 11), 136);
  header.write(fields.code, 156);
  bytesOfName(fields.target).copy(header, 157, 0, NAME_BYTES);
  header.write("ustar  \0", 257);
  header.write(`${octal(checksumOf(header), 6)}\0 `, 148);
  return header;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0").slice(-digits);
}

/** Of all bytes, with blanks where it stands itself. */
function checksumOf(header: Buffer): number {
  return header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);
}

/** Octal digits, or binary where the first bit is set. */
function numberAt(header: Buffer, at: number, length: number): number {
  if (((header[at] ?? 0) & 0x80) !== 0) {
    const value = header.subarray(at + 1, at + length).reduce((sum, byte) => sum * 256 + byte, 0);
    if ((header[at] ?? 0) !== 0x80 || !Number.isSafeInteger(value))
      throw new TarFormatError("it has a number that cannot be");
    return value;
  }
  const text = textAt(header, at, length).trim();
  if (!/^[0-7]*$/.test(text)) throw new TarFormatError("it has a number that cannot be");
  return text === "" ? 0 : Number.parseInt(text, 8);
}

function textAt(header: Buffer, at: number, length: number): string {
  return textOf(header.subarray(at, at + length));
}

/** Up to the first NUL; a name as byte-names.ts has it. */
export function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return nameOfBytes(end < 0 ? bytes : bytes.subarray(0, end));
}
