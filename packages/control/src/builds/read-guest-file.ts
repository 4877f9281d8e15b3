// A small file that a step has left in the build's microVM, where tenants may have written anything.

import { SkerryError } from "@skerry/contract/errors";
import type { HostClient } from "../host-client/host-client.ts";
import type { VmRef } from "../host-client/vm-ref.ts";

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
  const text = await readGuestText(client, vm, { path, maxBytes }, stop);
  if (text === undefined) throw new SkerryError("build_step_failed", `The image's ${noun} is too long.`);
  return text;
}

/** Undefined where it is longer. An answer that breaks off is a host that went away: the build is carried on later. */
export async function readGuestText(
  client: HostClient,
  vm: VmRef,
  { path, maxBytes }: Omit<GuestFile, "noun">,
  stop: AbortSignal,
): Promise<string | undefined> {
  const { content } = await client.files.read(vm, path, stop);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of content as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) return undefined;
      chunks.push(chunk);
    }
  } catch (cause) {
    if (cause instanceof SkerryError || stop.aborted) throw cause;
    throw new SkerryError("host_unavailable", "The host broke off while it sent a file.", { cause });
  }
  return Buffer.concat(chunks).toString("utf8");
}
