// Runs the real command as a child with real pipes.

import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { inject } from "vitest";

export interface Ended {
  /** Null where a signal ended it. */
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export class Shell implements AsyncDisposable {
  readonly folder: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #children = new Set<Child>();

  private constructor(folder: string, env: Readonly<Record<string, string>>) {
    this.folder = folder;
    this.#env = env;
  }

  /** A home of its own. `env` is all that the command sees besides. */
  static async open(env: Readonly<Record<string, string>> = {}): Promise<Shell> {
    return new Shell(await mkdtemp(join(tmpdir(), "skerry-cli-")), env);
  }

  static forServer({ baseUrl }: { readonly baseUrl: string }): Promise<Shell> {
    return Shell.open({ SKERRY_API_URL: baseUrl, SKERRY_API_TOKEN: "sk_test" });
  }

  get configHome(): string {
    return join(this.folder, "config");
  }

  start(...args: readonly string[]): Child {
    const child = spawn(process.execPath, ["--", inject("cliProgram"), ...args], {
      cwd: this.folder,
      // What is said about waiting depends on how fast the machine is.
      env: { HOME: this.folder, XDG_CONFIG_HOME: this.configHome, SKERRY_QUIET: "1", ...this.#env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    child.stdin.on("error", () => undefined);
    this.#children.add(child);
    child.once("close", () => this.#children.delete(child));
    return child;
  }

  /** Without input. */
  run(...args: readonly string[]): Promise<Ended> {
    const child = this.start(...args);
    child.stdin.end();
    return ended(child);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) child.kill("SIGKILL");
    await rm(this.folder, { recursive: true, force: true });
  }
}

export async function ended(child: Child): Promise<Ended> {
  const [stdout, stderr, [code]] = await Promise.all([
    buffer(child.stdout),
    buffer(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr: stderr.toString() };
}
