// Guests of a few instructions that boot by PVH in place of a kernel: enough to see that a CPU runs, stands still, and goes on where it
// stood, on a machine where no Linux boots under KVM.

import { Buffer } from "node:buffer";

/** Where the code is in the guest's memory. */
export const LOAD_AT = 0x10_0000;
const HEADERS_BYTES = 64 + 2 * 56;
/** Where the counter is in the guest's memory. */
export const COUNTER_AT = 0x20_0000;

/** Counts. */
export const counting = Buffer.from([
  ...[0xbb, 0x00, 0x00, 0x20, 0x00], // mov $COUNTER_AT, %ebx
  ...[0xff, 0x03], // 1: incl (%ebx)
  ...[0xeb, 0xfc], // jmp 1b
]);

/** Goes on where there is no memory: no KVM follows it there. */
export const lost = Buffer.from([
  ...[0xb8, 0x00, 0x00, 0x00, 0xd0], // mov $0xd0000000, %eax
  ...[0xff, 0xe0], // jmp *%eax
]);

/** Meets an exception without being ready for one, and resets the machine. */
export const resetting = Buffer.from([
  ...[0x0f, 0x01, 0x1d, 0x00, 0x10, 0x10, 0x00], // lidt 0x101000, where nothing but zeros is
  ...[0x0f, 0x0b], // ud2
]);

/** An ELF file with this code in 32-bit mode at its entry for PVH. */
export function tinyKernel(code: Buffer): Buffer {
  const note = Buffer.alloc(20);
  note.writeUInt32LE(4, 0);
  note.writeUInt32LE(4, 4);
  note.writeUInt32LE(18, 8);
  note.write("Xen\0", 12, "latin1");
  note.writeUInt32LE(LOAD_AT, 16);
  const header = Buffer.alloc(HEADERS_BYTES);
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]).copy(header);
  header.writeUInt16LE(2, 16); // an executable
  header.writeUInt16LE(62, 18); // x86_64
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(BigInt(LOAD_AT), 24);
  header.writeBigUInt64LE(64n, 32);
  header.writeUInt16LE(64, 52);
  header.writeUInt16LE(56, 54);
  header.writeUInt16LE(2, 56);
  programHeader({ type: 1, at: HEADERS_BYTES, address: LOAD_AT, bytes: code.length }).copy(header, 64);
  programHeader({ type: 4, at: HEADERS_BYTES + code.length, address: 0, bytes: note.length }).copy(
    header,
    120,
  );
  return Buffer.concat([header, code, note]);
}

interface Segment {
  readonly type: number;
  readonly at: number;
  readonly address: number;
  readonly bytes: number;
}

function programHeader({ type, at, address, bytes }: Segment): Buffer {
  const header = Buffer.alloc(56);
  header.writeUInt32LE(type, 0);
  header.writeUInt32LE(5, 4);
  for (const [offset, value] of [at, address, address, bytes, bytes, 4].entries())
    header.writeBigUInt64LE(BigInt(value), 8 + offset * 8);
  return header;
}
