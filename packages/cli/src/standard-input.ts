// Standard input as a whole, for a command in a microVM.

import { addAbortSignal } from "node:stream";
import { STDIN_MAX_BYTES } from "@skerry/contract/bounds";
import type { Cli } from "./cli.ts";
import { CliError } from "./errors.ts";

/** Scripts often leave a pipe open that nothing is written to. */
const SILENT_MS = 2_000;

/** What a pipe or a file holds; undefined at a terminal. Waits for the end, and says so where that takes long. */
export async function readStandardInput(cli: Cli): Promise<Uint8Array | undefined> {
  if (process.stdin.isTTY) return undefined;
  const stdin = addAbortSignal(cli.signal, process.stdin);
  const timer = setTimeout(
    () =>
      void cli.output.note(
        "Waiting for the end of standard input, which the command gets to read; --no-stdin sends it none.",
      ),
    SILENT_MS,
  );
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stdin as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > STDIN_MAX_BYTES) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    // The stream's own word for it is an AbortError.
    cli.signal.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
    // One that goes on would keep this process alive.
    stdin.destroy();
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
