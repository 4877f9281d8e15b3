// A small file that a step has left in the build's microVM, where tenants may have written anything.

import { SkerryError } from "@skerry/contract/errors";
import type { HostClient, VmRef } from "../host-client/host-client.ts";

interface GuestFile {
  readonly path: string;
  /** What it is, in an error. */
  readonly noun: string;
  readonly maxBytes: number;
}

export async function readGuestFile(
  client: HostClient,
  vm: VmRef,
  { path, noun, maxBytes }: GuestFile,
  stop: AbortSignal,
): Promise<string> {
  const { content } = await client.files.read(vm, path, stop);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of content as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new SkerryError("build_step_failed", `The image's ${noun} is too long.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
