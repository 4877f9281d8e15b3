// The host's end of native/spawn-helper.c, a small process that starts programs for it.

import { spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

/** As in spawn-helper.c. */
const asks = { run: 1, input: 2, kill: 3 } as const;
const tells = { output: 2, error: 3, ended: 4 } as const;
const HEADER_BYTES = 12;
/** A helper that has not started a program by then is stuck, and is killed. */
const START_DEADLINE_MS = 10_000;

/** Callbacks for the output and the end of a program. A signal is its number. */
export interface ProgramListener {
  output(bytes: Buffer): void;
  error(bytes: Buffer): void;
  ended(how: { readonly code: number } | { readonly signal: number }): void;
  /** The helper has died, so how the program ends is not known. */
  lost(): void;
}

/** A program that was started. */
export interface Program {
  readonly hasEnded: boolean;
  /** Gives it all its input. */
  input(text: string): void;
  kill(): void;
}

export class SpawnHelper {
  readonly pid: number;
  readonly #requests: Writable;
  readonly #listeners = new Map<number, ProgramListener>();
  /** Timers by program id, until the first frame about the program. */
  readonly #starting = new Map<number, NodeJS.Timeout>();
  #answers: Buffer = Buffer.alloc(0);
  #lastId = 0;
  #isThere = true;
  readonly #gone = Promise.withResolvers<void>();

  private constructor(pid: number, requests: Writable, answers: Readable) {
    this.pid = pid;
    this.#requests = requests;
    requests.on("error", () => undefined); // it has gone, and "close" says so
    answers.on("data", (bytes: Buffer) => this.#take(bytes));
    answers.on("close", () => this.#lose());
  }

  /** Ends with this process. Rejects where it cannot be run. */
  static async start(program: string): Promise<SpawnHelper> {
    const child = spawn(program, [], { stdio: ["pipe", "pipe", "inherit"] });
    const { stdin, stdout } = child;
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    const helper = new SpawnHelper(child.pid ?? 0, stdin, stdout);
    // The deadline of each running program keeps this process alive. Pipes of a child are sockets, which
    // Node's types do not tell.
    child.unref();
    for (const stream of [stdin, stdout]) (stream as unknown as { unref(): void }).unref();
    return helper;
  }

  /** False once it has died: programs have to be started in another way. */
  get isThere(): boolean {
    return this.#isThere;
  }

  /** Resolves when it dies. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  run(program: string, args: readonly string[], listener: ProgramListener): Program {
    const id = (this.#lastId += 1);
    this.#listeners.set(id, listener);
    this.#starting.set(
      id,
      setTimeout(() => this.#giveUp(), START_DEADLINE_MS),
    );
    this.#ask(asks.run, id, [program, ...args].map((argument) => `${argument}\0`).join(""));
    const isListening = (): boolean => this.#listeners.has(id);
    return {
      get hasEnded() {
        return !isListening();
      },
      input: (text) => this.#ask(asks.input, id, text),
      kill: () => this.#ask(asks.kill, id, ""),
    };
  }

  #ask(type: number, id: number, text: string): void {
    const payload = Buffer.from(text);
    const frame = Buffer.alloc(HEADER_BYTES + payload.length);
    frame.writeUInt32LE(type, 0);
    frame.writeUInt32LE(id, 4);
    frame.writeUInt32LE(payload.length, 8);
    payload.copy(frame, HEADER_BYTES);
    this.#requests.write(frame);
  }

  #take(bytes: Buffer): void {
    const held = this.#answers.length === 0 ? bytes : Buffer.concat([this.#answers, bytes]);
    let at = 0;
    while (held.length - at >= HEADER_BYTES) {
      const end = at + HEADER_BYTES + held.readUInt32LE(at + 8);
      if (held.length < end) break;
      this.#tell(held.readUInt32LE(at), held.readUInt32LE(at + 4), held.subarray(at + HEADER_BYTES, end));
      at = end;
    }
    this.#answers = held.subarray(at);
  }

  #tell(type: number, id: number, payload: Buffer): void {
    const listener = this.#listeners.get(id);
    if (listener === undefined) return;
    this.#hasStarted(id);
    if (type === tells.output) listener.output(payload);
    if (type === tells.error) listener.error(payload);
    if (type !== tells.ended) return;
    this.#listeners.delete(id);
    const how = payload.readInt32LE(0);
    listener.ended(how >= 0 ? { code: how } : { signal: -how });
  }

  #hasStarted(id: number): void {
    clearTimeout(this.#starting.get(id));
    this.#starting.delete(id);
  }

  /** Kills a helper that hangs: programs are then started without it, more slowly. */
  #giveUp(): void {
    try {
      process.kill(this.pid, "SIGKILL");
    } catch {
      // The helper ended before the kill.
    }
  }

  #lose(): void {
    this.#isThere = false;
    for (const id of [...this.#starting.keys()]) this.#hasStarted(id);
    const left = [...this.#listeners.values()];
    this.#listeners.clear();
    for (const listener of left) listener.lost();
    this.#gone.resolve();
  }
}
