// A secret from standard input, where no list of processes and no history of a shell has it.

import { createInterface } from "node:readline/promises";
import { text } from "node:stream/consumers";
import { Writable } from "node:stream";
import { CliError, exitCodes } from "../errors/errors.ts";

/** `asked` is shown at a terminal, where the secret is typed and not shown; `noun` says in an error what is missing. */
export async function readSecret(asked: string, noun: string): Promise<string> {
  if (!process.stdin.isTTY) return checked(await text(process.stdin), noun);
  process.stderr.write(`${asked}: `);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  try {
    return checked(await terminal.question(""), noun);
  } finally {
    terminal.close();
    process.stderr.write("\n");
  }
}

function checked(typed: string, noun: string): string {
  const secret = typed.trim();
  if (secret !== "") return secret;
  throw new CliError(`no_${noun}`, `Nothing came on standard input where a ${noun} was expected.`, {
    remediation: `Pipe a ${noun} into the command, or type one when it asks.`,
    exitCode: exitCodes.usage,
  });
}
