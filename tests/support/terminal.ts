// The real command on a person's terminal, which `terminal.py` is.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { json } from "node:stream/consumers";

const root = join(import.meta.dirname, "../..");
const WAIT_MS = 60_000;

interface Ended {
  /** Below 0: the signal that ended it. */
  readonly code: number;
  /** The terminal is as it was before. */
  readonly restored: boolean;
}

export class Terminal {
  readonly #child: ChildProcess;
  readonly ended: Promise<Ended>;
  #screen = "";
  #changed = Promise.withResolvers<void>();

  constructor(env: Readonly<Record<string, string>>, ...args: readonly string[]) {
    const words = [
      join(import.meta.dirname, "terminal.py"),
      process.execPath,
      join(root, "dist/skerry.js"),
      ...args,
    ];
    const child = spawn("python3", words, {
      env: { ...process.env, TERM: "xterm", ...env },
      stdio: ["pipe", "pipe", "inherit", "pipe"],
    });
    this.#child = child;
    const { stdout, stdio } = child;
    (stdout as Readable).setEncoding("latin1").on("data", (text: string) => {
      this.#screen += text;
      this.#changed.resolve();
      this.#changed = Promise.withResolvers<void>();
    });
    this.ended = (async () => {
      const [ended] = await Promise.all([json(stdio[3] as Readable), once(child, "close")]);
      return ended as Ended;
    })();
    this.ended.catch(() => undefined); // a test need not wait for every end
  }

  type(keys: string): void {
    this.#do({ keys: Buffer.from(keys, "latin1").toString("base64") });
  }

  resize(cols: number, rows: number): void {
    this.#do({ size: [cols, rows] });
  }

  signal(signal: number): void {
    this.#do({ signal });
  }

  /** Waits until the screen has got this; what came up to there does not count any more. */
  async shows(text: string | RegExp, withinMs: number = WAIT_MS): Promise<string> {
    const late = AbortSignal.timeout(withinMs);
    for (;;) {
      const found = this.#find(text);
      if (found >= 0) {
        const [shown = ""] = typeof text === "string" ? [text] : (text.exec(this.#screen) ?? []);
        this.#screen = this.#screen.slice(found + shown.length);
        return shown;
      }
      if (late.aborted) throw new Error(`the screen never showed ${text}: ${this.#screen.slice(-2_000)}`);
      await Promise.race([this.#changed.promise, once(late, "abort"), this.ended.catch(() => undefined)]);
      if (this.#child.exitCode !== null && this.#find(text) < 0)
        throw new Error(`it ended before the screen showed ${text}: ${this.#screen.slice(-2_000)}`);
    }
  }

  #find(text: string | RegExp): number {
    return typeof text === "string" ? this.#screen.indexOf(text) : this.#screen.search(text);
  }

  #do(what: object): void {
    (this.#child.stdin as Writable).write(`${JSON.stringify(what)}\n`);
  }
}
