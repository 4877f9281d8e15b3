// Standard input as a whole, for a command in a microVM.

import { addAbortSignal } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { STDIN_MAX_BYTES } from "@skerry/contract/bounds";
import type { Cli } from "../cli.ts";
import { CliError } from "../errors/errors.ts";

/** Programs often leave a pipe open that nothing is written to. */
const SILENT_MS = 2_000;

export interface StandardInput extends Disposable {
  /** Undefined at a terminal, and where nothing came. */
  readonly bytes: Uint8Array | undefined;
  /** Aborted where something comes after all: a command that began without it must not end as if it had read it. */
  readonly late: AbortSignal;
}

/** What a pipe or a file holds, to its end. A pipe on which nothing comes for 2 s counts as empty, unless `isAwaited`. */
export async function readStandardInput(cli: Cli, isAwaited: boolean): Promise<StandardInput> {
  const late = new AbortController();
  if (process.stdin.isTTY) return { bytes: undefined, late: late.signal, [Symbol.dispose]: () => undefined };
  const stdin = addAbortSignal(cli.signal, process.stdin);
  // One that goes on would keep this process alive.
  const input = { late: late.signal, [Symbol.dispose]: () => void stdin.destroy() };
  try {
    const pieces = (stdin as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
    const first = pieces.next();
    if (isAwaited || !(await isSilent(first))) return { ...input, bytes: await readAll(cli, first, pieces) };
    await cli.output.note(
      "Nothing has come on standard input, so the command starts without it. --no-stdin leaves it alone, --stdin waits for it.",
    );
    first.then(
      ({ done }) => done === true || late.abort(tooLate()),
      () => undefined, // we have closed it
    );
    return { ...input, bytes: undefined };
  } catch (error) {
    stdin.destroy();
    // The stream's own word for it is an AbortError.
    cli.signal.throwIfAborted();
    throw error;
  }
}

async function isSilent(first: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController();
  const silence = sleep(SILENT_MS, true, { signal: timer.signal }).catch(() => true);
  try {
    return await Promise.race([first.then(() => false), silence]);
  } finally {
    timer.abort();
  }
}

async function readAll(
  cli: Cli,
  first: Promise<IteratorResult<Buffer>>,
  pieces: AsyncIterator<Buffer>,
): Promise<Uint8Array> {
  const words =
    "Waiting for the end of standard input, which the command gets to read; --no-stdin sends it none.";
  const timer = setTimeout(() => void cli.output.note(words), SILENT_MS);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for (let next = await first; next.done !== true; next = await pieces.next()) {
      bytes += next.value.length;
      if (bytes > STDIN_MAX_BYTES) throw tooLarge();
      chunks.push(next.value);
    }
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks);
}

function tooLarge(): CliError {
  return new CliError(
    "stdin_too_large",
    `Standard input has more than ${STDIN_MAX_BYTES} bytes; nothing was run.`,
    {
      remediation: "Upload it as a file, and redirect it in the command: 'command < file'.",
    },
  );
}

function tooLate(): CliError {
  return new CliError(
    "stdin_too_late",
    "Standard input came after the command had begun without it; the command was killed.",
    { remediation: "Have it waited for with --stdin, or left alone with --no-stdin." },
  );
}
