// Runs a program that reads a stream and writes another one, however long they are.

import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";

const STDERR_TAIL_CHARS = 4_000;

export class PipeFailure extends Error {
  override readonly name = "PipeFailure";
  /** The end of what the program said. */
  readonly stderr: string;

  constructor(program: string, stderr: string) {
    super(`${program} failed`);
    this.stderr = stderr;
  }
}

/** Yields what it writes. Throws PipeFailure where it fails, and the error of `input` where that does. A program that stops reading before the
 *  end of `input` is no failure. */
export async function* pipeThrough(
  program: string,
  args: readonly string[],
  options: Pick<SpawnOptions, "cwd" | "env" | "uid" | "gid">,
  input: AsyncIterable<Uint8Array>,
): AsyncGenerator<Buffer> {
  const child = spawn(program, args, { ...options, stdio: ["pipe", "pipe", "pipe"] });
  const ended = endOf(program, child);
  const fed = feed(child, input);
  // Both are waited for below, after the output.
  ended.catch(() => undefined);
  fed.catch(() => child.kill("SIGKILL"));
  try {
    yield* child.stdout as AsyncIterable<Buffer>;
    await fed;
    await ended;
  } finally {
    child.kill("SIGKILL");
  }
}

async function feed({ stdin }: ChildProcess, input: AsyncIterable<Uint8Array>): Promise<void> {
  if (stdin === null) throw new Error("the program has no input");
  // It reads no more of it.
  stdin.on("error", () => undefined);
  for await (const chunk of input) {
    if (stdin.destroyed) return;
    if (!stdin.write(chunk)) await drained(stdin);
  }
  stdin.end();
}

function drained(stream: NodeJS.WritableStream): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ["drain", "close", "error"]) stream.once(event, () => resolve());
  });
}

function endOf(program: string, child: ChildProcess): Promise<void> {
  let stderr = "";
  child.stderr
    ?.setEncoding("utf8")
    .on("data", (text: string) => (stderr = (stderr + text).slice(-STDERR_TAIL_CHARS)));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve() : reject(new PipeFailure(program, stderr))));
  });
}
