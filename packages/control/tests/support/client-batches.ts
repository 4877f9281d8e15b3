// The clients that are programs of their own, each started once for many calls.

import { fork, spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import type { CommandEnd, CommandLine } from "../../../cli/tests/support/command-batch.ts";

const packages = join(import.meta.dirname, "../../..");
/** The one that sees Debian's httpx; another one may come first in PATH. */
const PYTHON = "/usr/bin/python3";

export interface Server {
  readonly url: string;
  readonly token: string;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** `skerry`, from its sources, in a folder of its own. */
export class CommandBatch implements AsyncDisposable {
  readonly #folder: string;
  readonly #child: ChildProcess;

  private constructor(folder: string, child: ChildProcess) {
    this.#folder = folder;
    this.#child = child;
  }

  static async start({ url, token }: Server): Promise<CommandBatch> {
    const folder = await mkdtemp(join(tmpdir(), "skerry-commands-"));
    const child = fork(join(packages, "cli/tests/support/command-batch.ts"), {
      cwd: folder,
      env: { HOME: folder, SKERRY_QUIET: "1", SKERRY_API_URL: url, SKERRY_API_TOKEN: token },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    await answerOf(child);
    return new CommandBatch(folder, child);
  }

  async run(line: CommandLine): Promise<CommandEnd> {
    const answer = answerOf<CommandEnd>(this.#child);
    this.#child.send(line);
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await ended(this.#child);
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Throws where it ends instead. */
async function answerOf<T>(child: ChildProcess): Promise<T> {
  const over = new AbortController();
  const { signal } = over;
  const end = once(child, "exit", { signal }).then(([code]) => {
    throw new Error(`the batch of commands has ended with ${code}`);
  });
  end.catch(() => undefined);
  try {
    const [message] = (await Promise.race([once(child, "message", { signal }), end])) as [T];
    return message;
  } finally {
    over.abort();
  }
}

type PythonAnswer = { readonly gives: unknown } | { readonly failed: string };

/** Both halves of the Python client. */
export class PythonBatch implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: Interface;

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    this.#lines = createInterface(child.stdout);
    child.stderr.pipe(process.stderr, { end: false });
  }

  static start({ url, token }: Server): PythonBatch {
    const args = ["-W", "error::ResourceWarning", join(packages, "python/tests/call_batch.py")];
    const env = { PYTHONPATH: join(packages, "python/src"), PYTHONDONTWRITEBYTECODE: "1" };
    return new PythonBatch(
      spawn(PYTHON, args, {
        env: { ...env, HOME: "/nonexistent", SKERRY_API_URL: url, SKERRY_API_TOKEN: token },
      }),
    );
  }

  async evaluate(client: "python" | "asyncio", expression: string): Promise<unknown> {
    const over = new AbortController();
    const { signal } = over;
    const end = once(this.#child, "exit", { signal }).then(([code]): [string] => [
      JSON.stringify({ failed: `Python has ended with ${code}` }),
    ]);
    end.catch(() => undefined);
    this.#child.stdin.write(`${JSON.stringify({ client, expression })}\n`);
    const [line] = (await Promise.race([once(this.#lines, "line", { signal }), end])) as [string];
    over.abort();
    const answer = JSON.parse(line) as PythonAnswer;
    if ("failed" in answer) throw new Error(`${expression}: ${answer.failed}`);
    return answer.gives;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await ended(this.#child);
  }
}
