// From a VM to this machine.

import { realpath } from "node:fs/promises";
import { dirname, posix } from "node:path";
import { TarFormatError } from "@skerry/sdk/folder/tar-header";
import type { Cli } from "../../cli.ts";
import { CliError } from "../../errors/errors.ts";
import { bounded, freeBytes, STDIO } from "../vms/local-files.ts";
import type { Copy } from "./copy-in.ts";
import { extractTree, type Extracted } from "./extract-tree.ts";
import { archiveOfGuest, probeGuest, type Guest } from "./guest-copy.ts";
import { endsInDot, landingOf, type CopyTarget } from "./landing.ts";
import { amountText, localTarget } from "./local-places.ts";
import { readTar } from "./tar-reader.ts";

export async function copyOut(cli: Cli, guest: Guest, { source, target, flags }: Copy): Promise<void> {
  const isFollowed = flags.followLink === true || source.endsWith("/") || endsInDot(source);
  const found = await probeGuest(guest, source, isFollowed);
  if (found.kind === "none") throw missing(source);
  // What it is called is what the user calls it, and what is packed is what it leads to.
  const path = isFollowed ? found.real : source;
  const isContent = found.kind === "directory" && (endsInDot(source) || path === "/");
  const archive = archiveOfGuest(guest, { path, isContent });
  if (target === STDIO) {
    for await (const chunk of bounded(archive, flags.maxSize)) await cli.output.bytes("stdout", chunk);
    return;
  }
  const name = posix.basename(source.replace(/(\/\.?)+$/, ""));
  const there = await localTarget(target);
  const place: CopyTarget =
    there.kind === "file" && !target.endsWith("/") ? { ...there, path: await realpath(target) } : there;
  const landing = landingOf({ path: source, kind: found.kind, name }, place);
  const sourceName = isContent ? undefined : posix.basename(path);
  const done = await cli.waits.during(`Copying ${source}`, async (transfer) =>
    extractTree(readTar(archive), {
      ...landing,
      ...{ sourceName, isOneFile: found.kind !== "directory" },
      maxBytes: flags.maxSize ?? (await freeBytes(landing.folder)),
      onProgress: (bytes) => transfer.add(bytes),
    }).catch(asRefusal),
  );
  await report(cli, done);
}

async function report(cli: Cli, done: Extracted): Promise<void> {
  for (const skipped of done.skipped) await cli.output.note(`Left out: ${skipped}`);
  await cli.output.note(`Copied ${amountText(done)}.`);
}

function asRefusal(error: unknown): never {
  if (!(error instanceof TarFormatError)) throw error;
  throw new CliError("archive_refused", `What the VM has sent cannot be unpacked: ${error.message}.`, {
    remediation: "What came before is kept. Look whether `tar` works in the VM.",
  });
}

function missing(path: string): CliError {
  const message = `There is no file or directory ${path} in the VM.`;
  return new CliError("file_not_found", message, { remediation: `Look into ${dirname(path)} with \`ls\`.` });
}
