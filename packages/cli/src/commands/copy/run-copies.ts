// What `skerry run` copies into its sandbox before the command, and out of it afterwards.

import type { Cli } from "../../cli.ts";
import { CliError, exitCodes } from "../../errors.ts";
import type { Guest } from "./guest-copy.ts";

/** In which what was copied is found, and the command runs. */
export const HOME = "/root";

export interface Copying {
  readonly source: string;
  readonly target: string;
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
export async function copyAllOut(cli: Cli, guest: Guest, copies: readonly Copying[]): Promise<void> {
  if (copies.length === 0) return;
  const { copyOut } = await import("./copy-out.ts");
  for (const copy of copies) {
    try {
      await copyOut(cli, guest, { ...copy, flags: {} });
    } catch (error) {
      guest.signal.throwIfAborted();
      if (cli.exitCode === 0) throw error;
      await cli.fail(error);
    }
  }
}

/** `PATH` or `PATH:TARGET`; the target in the sandbox is absolute. */
export function inward(text: string): Copying {
  const at = text.lastIndexOf(":/");
  if (at <= 0) return { source: text, target: `${HOME}/` };
  return { source: text.slice(0, at), target: text.slice(at + 1) };
}

/** `PATH` in the sandbox or `PATH:TARGET`; a path there is absolute, or below the home folder. */
export function outward(text: string): Copying {
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
  };
}
