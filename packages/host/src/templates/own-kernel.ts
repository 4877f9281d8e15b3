// A kernel of the operator's in place of Debian's: a bzImage, or a vmlinux that boots by PVH. Its drivers must be built in, because the
// initramfs then carries no modules. The host uses a copy, named after its content, so the file may be replaced at any time: guests of the
// running host go on booting what their templates were frozen with, and the next start of the host takes the new one.

import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, open, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { discardWorkFolder } from "../system/remove-tree.ts";
import type { Kernel } from "./boot-files.ts";

/** The setting names a file that cannot be used; `message` says why and what to do. */
export class OwnKernelFault extends Error {
  override readonly name = "OwnKernelFault";

  constructor(file: string, why: string) {
    super(
      `SKERRY_GUEST_KERNEL: ${file} ${why}. Name a bzImage (as /boot/vmlinuz-*) or a vmlinux built with CONFIG_PVH, or unset it for Debian's kernel.`,
    );
  }
}

const MIB = 1024 * 1024;
/** Debug information makes a vmlinux larger; no guest has use for it. */
const SIZE_MAX_MIB = 256;

const BOOT_SIGNATURE = { at: 0x1fe, value: 0xaa55 } as const;
/** "HdrS" of the kernel's boot protocol. */
const BZIMAGE_MAGIC = { at: 0x202, value: 0x5372_6448 } as const;
/** Where the version's text lies, less 512. */
const BZIMAGE_VERSION_AT = 0x20e;
const VERSION_MAX_BYTES = 100;

const ELF64_MAGIC = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
const PROGRAM_HEADER_BYTES = 56;
const PT_NOTE = 4;
const NOTE_HEADER_BYTES = 12;
/** The entry point for PVH, in the name space of Xen, which defined it. */
const PVH_NOTE = { name: "Xen\0", type: 18 } as const;

/** Copies the file into `folder`, unless the same content is there. Throws OwnKernelFault. */
export async function ensureOwnKernel(folder: string, file: string): Promise<Kernel> {
  const content = await readKernel(file);
  const version = versionOfKernel(content);
  if (version === undefined) throw new OwnKernelFault(file, "is neither a bzImage nor a vmlinux with PVH");
  const copy = join(folder, `kernel-${createHash("sha256").update(content).digest("hex")}`);
  if (!(await stat(copy).then(Boolean, () => false))) await writeWhole(folder, copy, content);
  return { file: copy, version, modules: undefined };
}

/** The version that a kernel of a usable format names; undefined for any other content. */
export function versionOfKernel(content: Buffer): string | undefined {
  if (isBzImage(content)) {
    const at = content.readUInt16LE(BZIMAGE_VERSION_AT) + 0x200;
    return firstWord(content.toString("latin1", at, at + VERSION_MAX_BYTES));
  }
  if (!hasPvhEntry(content)) return undefined;
  const banner = "Linux version ";
  const at = content.indexOf(banner);
  if (at < 0) return "unknown";
  return firstWord(content.toString("latin1", at + banner.length, at + banner.length + VERSION_MAX_BYTES));
}

async function readKernel(path: string): Promise<Buffer> {
  try {
    await using file = await open(path, "r");
    const found = await file.stat();
    if (!found.isFile()) throw new OwnKernelFault(path, "is not a file");
    if (found.size > SIZE_MAX_MIB * MIB)
      throw new OwnKernelFault(path, `has more than ${SIZE_MAX_MIB} MiB; strip its debug information`);
    return await file.readFile();
  } catch (error) {
    if (error instanceof OwnKernelFault) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new OwnKernelFault(path, code === "ENOENT" ? "is not there" : `cannot be read (${String(code)})`);
  }
}

async function writeWhole(folder: string, target: string, content: Buffer): Promise<void> {
  await mkdir(folder, { recursive: true });
  const work = await mkdtemp(`${target}-`);
  try {
    const part = join(work, "kernel");
    await writeFile(part, content);
    await chmod(part, 0o444);
    await rename(part, target);
  } finally {
    await discardWorkFolder(work);
  }
}

function isBzImage(content: Buffer): boolean {
  return (
    content.length > BZIMAGE_VERSION_AT + 2 &&
    content.readUInt16LE(BOOT_SIGNATURE.at) === BOOT_SIGNATURE.value &&
    content.readUInt32LE(BZIMAGE_MAGIC.at) === BZIMAGE_MAGIC.value
  );
}

/** Looks through the notes of a 64-bit ELF file, none of whose numbers is believed. */
function hasPvhEntry(content: Buffer): boolean {
  if (content.length < 64 || !content.subarray(0, ELF64_MAGIC.length).equals(ELF64_MAGIC)) return false;
  const headersAt = Number(content.readBigUInt64LE(32));
  const headers = content.readUInt16LE(56);
  for (let index = 0; index < headers; index += 1) {
    const at = headersAt + index * PROGRAM_HEADER_BYTES;
    if (at + PROGRAM_HEADER_BYTES > content.length) return false;
    if (content.readUInt32LE(at) !== PT_NOTE) continue;
    const from = Number(content.readBigUInt64LE(at + 8));
    const size = Number(content.readBigUInt64LE(at + 32));
    if (hasPvhNote(content.subarray(from, from + size))) return true;
  }
  return false;
}

function hasPvhNote(notes: Buffer): boolean {
  const aligned = (bytes: number): number => Math.ceil(bytes / 4) * 4;
  for (let at = 0; at + NOTE_HEADER_BYTES <= notes.length;) {
    const nameBytes = notes.readUInt32LE(at);
    const valueBytes = notes.readUInt32LE(at + 4);
    const nameAt = at + NOTE_HEADER_BYTES;
    const name = notes.toString("latin1", nameAt, nameAt + nameBytes);
    if (name === PVH_NOTE.name && notes.readUInt32LE(at + 8) === PVH_NOTE.type) return true;
    at = nameAt + aligned(nameBytes) + aligned(valueBytes);
  }
  return false;
}

function firstWord(text: string): string {
  return /^[\w.+~-]+/.exec(text)?.[0] ?? "unknown";
}
