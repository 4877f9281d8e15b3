// From this machine into a VM.

import { lstat, realpath, stat } from "node:fs/promises";
import { basename, posix, resolve } from "node:path";
import { readLeftOut } from "@skerry/sdk/folder/context-folder";
import { packTree, type PackedTree } from "@skerry/sdk/folder/tar-writer";
import type { Cli } from "../../cli.ts";
import { CliError } from "../../errors/errors.ts";
import { STDIO } from "../vms/local-files.ts";
import { probeGuest, unpackInGuest, type Guest } from "./guest-copy.ts";
import { landingOf, type CopyTarget } from "./landing.ts";
import { amountText, localKind } from "./local-places.ts";

export interface CopyFlags {
  readonly followLink?: boolean;
  readonly maxSize?: number;
  /** A directory goes without the files that its .dockerignore names, as a build takes it. */
  readonly isIgnoring?: boolean;
}

export interface Copy {
  readonly source: string;
  readonly target: string;
  readonly flags: CopyFlags;
}

export async function copyIn(cli: Cli, guest: Guest, { source, target, flags }: Copy): Promise<void> {
  const there = await probeGuest(guest, target, true);
  if (source === STDIO) return unpackStdin(cli, guest, { ...there, path: target });
  // With a slash at its end a link is what it leads to.
  const isFollowed = flags.followLink === true || source.endsWith("/");
  const stats = isFollowed ? await stat(source) : await lstat(source);
  const path = isFollowed ? await realpath(source) : source;
  const place: CopyTarget = {
    ...there,
    path: there.kind === "file" && !target.endsWith("/") ? there.real : target,
  };
  const landing = landingOf({ path: source, kind: localKind(stats), name: basename(resolve(source)) }, place);
  const leftOut = await leftOutOf(path, stats.isDirectory() && flags.isIgnoring);
  const tree = await packTree(path, landing.name ?? "", leftOut.below(landing.name));
  await cli.waits.during(
    `Copying ${source}`,
    (transfer) =>
      unpackInGuest(guest, tree.archive, {
        folder: landing.folder,
        onProgress: (bytes) => transfer.add(bytes),
      }),
    { totalBytes: tree.archiveBytes },
  );
  const into = stats.isDirectory() ? posix.join(landing.folder, landing.name ?? "") : landing.folder;
  await report(cli, tree, { into, isLeftOut: leftOut.isUsed() });
  await tellSecrets(cli, tree, path);
}

async function report(
  cli: Cli,
  tree: PackedTree,
  { into, isLeftOut }: { readonly into: string; readonly isLeftOut: boolean },
): Promise<void> {
  for (const skipped of tree.skipped)
    await cli.output.note(`Left out, as it is no file, directory or link: ${skipped}`);
  await cli.output.note(`Copied ${amountText(tree, into)}.`);
  if (isLeftOut)
    await cli.output.note(
      "Left out what .dockerignore names, or without one .git, node_modules and the like; --copy-in-all takes all.",
    );
}

const SECRETS_SHOWN = 5;

/** Files that often hold secrets, where the user has named the folder and not them. */
async function tellSecrets(cli: Cli, { items }: PackedTree, root: string): Promise<void> {
  const names = items.flatMap(({ path, name, stats }) =>
    path !== root && stats.isFile() && isEnvFile(basename(name)) ? [name] : [],
  );
  if (names.length === 0) return;
  const more = names.length > SECRETS_SHOWN ? ` and ${names.length - SECRETS_SHOWN} more` : "";
  await cli.output.note(
    `With it went ${names.slice(0, SECRETS_SHOWN).join(", ")}${more}, which may hold secrets; a line in .dockerignore keeps them out of builds and of run --copy-in.`,
  );
}

function isEnvFile(name: string): boolean {
  return /^\.env(\..+)?$/.test(name) && !/\.(example|sample|template|dist)$/.test(name);
}

/** The root of the copy has been named by the user, so it is never left out. */
async function leftOutOf(folder: string, isIgnoring = false) {
  const isLeftOut = isIgnoring ? await readLeftOut(folder) : () => false;
  let isUsed = false;
  return {
    isUsed: () => isUsed,
    below: (root: string | undefined) => (name: string, isDirectory: boolean) => {
      const path = root === undefined ? name : name.slice(root.length + 1);
      const isOut = path !== "" && isLeftOut(path, isDirectory);
      isUsed ||= isOut;
      return isOut;
    },
  };
}

async function unpackStdin(cli: Cli, guest: Guest, target: CopyTarget): Promise<void> {
  if (target.kind !== "directory")
    throw new CliError(
      "not_directory",
      `${target.path} is no directory, and an archive is unpacked into one.`,
      {
        remediation: "Name a directory that is there.",
      },
    );
  await cli.waits.during("Copying standard input", (transfer) =>
    unpackInGuest(guest, interrupted(process.stdin, guest.signal), {
      folder: target.path,
      onProgress: (bytes) => transfer.add(bytes),
    }),
  );
}

/** Standard input may stay silent for ever; Ctrl-C ends the wait for it, and so does the end of the copy. */
async function* interrupted(input: NodeJS.ReadStream, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const stop = () => input.destroy(signal.reason as Error);
  signal.addEventListener("abort", stop, { once: true });
  try {
    signal.throwIfAborted();
    for await (const chunk of input) yield chunk as Buffer;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
