// Copies of `skerry run`: into its sandbox before the command, and out of it afterwards.

import { mkdir } from "node:fs/promises";
import type { Cli } from "../../cli.ts";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { matchesInGuest, type Guest } from "./guest-copy.ts";
import { isPattern } from "./shell-pattern.ts";

/** In which what was copied is found, and the command runs. */
export const HOME = "/root";

export interface Copying {
  readonly source: string;
  readonly target: string;
}

export interface CopyingOut extends Copying {
  /** Where there is nothing, that is no failure. */
  readonly isOptional: boolean;
}

export async function copyAllIn(
  cli: Cli,
  guest: Guest,
  copies: readonly Copying[],
  isIgnoring: boolean,
): Promise<void> {
  if (copies.length === 0) return;
  const { copyIn } = await import("./copy-in.ts");
  for (const copy of copies) await copyIn(cli, guest, { ...copy, flags: { isIgnoring } });
}

/** A command that has failed keeps its code also where what it was to make is not there. */
export async function copyAllOut(cli: Cli, guest: Guest, copies: readonly CopyingOut[]): Promise<void> {
  for (const copy of copies) {
    try {
      await copyMatches(cli, guest, copy);
    } catch (error) {
      guest.signal.throwIfAborted();
      if (cli.exitCode === 0) throw error;
      await cli.fail(error);
    }
  }
}

async function copyMatches(
  cli: Cli,
  guest: Guest,
  { source, target, isOptional }: CopyingOut,
): Promise<void> {
  const { copyOut } = await import("./copy-out.ts");
  const sources = await matchesInGuest(guest, source);
  if (sources.length === 0) {
    if (isOptional) return cli.output.note(`There is no ${source} to copy.`);
    throw nothingThere(source);
  }
  // A pattern may have more of them another time, so its target is a directory from the beginning.
  if (isPattern(source) && target.endsWith("/")) await mkdir(target, { recursive: true });
  for (const one of sources) await copyOut(cli, guest, { source: one, target, flags: {} });
}

function nothingThere(source: string): CliError {
  const message = isPattern(source)
    ? `Nothing in the sandbox is called ${source}.`
    : `There is no ${source} in the sandbox.`;
  return new CliError("file_not_found", message, {
    remediation:
      "--keep-on-failure keeps the sandbox to look into, and --copy-out-optional takes what may be missing.",
  });
}

/** `PATH` or `PATH:TARGET`; the target in the sandbox is absolute. */
export function inward(text: string): Copying {
  const at = text.lastIndexOf(":/");
  if (at <= 0) return { source: text, target: `${HOME}/` };
  return { source: text.slice(0, at), target: text.slice(at + 1) };
}

/** `PATH` in the sandbox or `PATH:TARGET`; a path there is absolute, or below the home folder. */
export function outward(text: string, isOptional: boolean): CopyingOut {
  const at = text.indexOf(":");
  const source = at < 0 ? text : text.slice(0, at);
  if (source === "")
    throw new CliError("invalid_input", `"${text}" names nothing in the sandbox.`, {
      remediation: "Write --copy-out PATH, or PATH:TARGET with the target here.",
      exitCode: exitCodes.usage,
    });
  return {
    source: source.startsWith("/") ? source : `${HOME}/${source}`,
    target: at < 0 ? "." : text.slice(at + 1) || ".",
    isOptional,
  };
}
