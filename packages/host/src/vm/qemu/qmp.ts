// QEMU's machine protocol: one JSON object per line, answers in the order of the questions, events in
// between.

import { addAbortListener } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { dialSocket } from "../../system/dial-socket.ts";
import { LeakyBucket } from "../../system/leaky-bucket.ts";

/** QEMU refused, vanished, or did not answer in time. */
export class QmpError extends Error {
  override readonly name = "QmpError";
}

/** The caller gets an error after this. QEMU gives no answer while it waits for a slow disk or for another
 *  QEMU; its VM is not dead then. */
export const ANSWER_DEADLINE_MS = 10_000;
/** A QEMU that has not answered for so long is taken for dead. */
export const HUNG_AFTER_MS = 120_000;
/** QEMU's longest answer here is the console ring (64 KiB, escaped); a QEMU that a guest took over may
 *  send anything. */
const LINE_MAX_CHARS = 1024 * 1024;

/** What QEMU says without having been asked: a few events in a VM's life, but for one that a guest took
 *  over. A message counts one and one more for each KiB, so a flood costs no more than about a hundredth
 *  of a core. */
const UNASKED = { burst: 1_000, perMs: 1 } as const;
const UNASKED_CHARS = 1_024;

/** The state of a guest that KVM has given up. */
export const GIVEN_UP = "internal-error";

interface Question {
  readonly command: string;
  readonly hung: NodeJS.Timeout;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export class Qmp {
  readonly #socket: Socket;
  readonly #questions: Question[] = [];
  readonly #unasked = new LeakyBucket(UNASKED, performance.now());
  #buffered = "";
  #shutdownReason: string | undefined;
  readonly #givenUp = Promise.withResolvers<void>();
  #asksWhyStopped = false;
  /** The caller gets an error after this, unless the command has a deadline of its own. */
  deadlineMs = ANSWER_DEADLINE_MS;
  /** Settles when the connection has ended, which is when QEMU has. */
  readonly closed: Promise<void>;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => socket.once("close", () => resolve()));
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => this.#receive(text));
    socket.once("close", () => this.#fail(new QmpError("QEMU closed its control socket")));
  }

  /** Connects to a QEMU that may still be starting. The signal ends the attempt until this resolves, and
   *  changes nothing after it. The deadline is that of each answer, also of later ones until `deadlineMs`
   *  is set anew. */
  static async connect(path: string, signal: AbortSignal, deadlineMs = ANSWER_DEADLINE_MS): Promise<Qmp> {
    const qmp = new Qmp(await dialSocket(path, signal));
    qmp.deadlineMs = deadlineMs;
    using _listener = addAbortListener(signal, () => qmp.close());
    try {
      await qmp.#answer("greeting", deadlineMs);
      await qmp.execute("qmp_capabilities");
      return qmp;
    } catch (error) {
      qmp.close();
      throw error;
    }
  }

  /** Why the guest ended, as QEMU tells it (`guest-reset`, `guest-panic`, …), where it told anything. */
  get shutdownReason(): string | undefined {
    return this.#shutdownReason;
  }

  /** Resolves when KVM has met what it cannot execute: the guest stands still for good, and QEMU lives on. */
  get givenUp(): Promise<void> {
    return this.#givenUp.promise;
  }

  async execute(
    command: string,
    args: Readonly<Record<string, unknown>> = {},
    deadlineMs = this.deadlineMs,
  ): Promise<unknown> {
    if (this.#socket.destroyed) throw new QmpError(`${command}: QEMU is gone`);
    this.#socket.write(`${JSON.stringify({ execute: command, arguments: args })}\n`);
    return this.#answer(command, deadlineMs);
  }

  close(): void {
    this.#socket.destroy();
  }

  async #answer(command: string, deadlineMs: number): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const hung = setTimeout(() => this.#socket.destroy(), HUNG_AFTER_MS);
    // It keeps its place after its caller has given up, because answers are matched by their order alone.
    this.#questions.push({ command, hung, resolve, reject });
    const deadline = setTimeout(() => {
      reject(new QmpError(`${command}: no answer from QEMU in ${deadlineMs} ms`));
    }, deadlineMs);
    try {
      return await promise;
    } finally {
      clearTimeout(deadline);
    }
  }

  #receive(text: string): void {
    this.#buffered += text;
    for (let end = this.#buffered.indexOf("\n"); end >= 0; end = this.#buffered.indexOf("\n")) {
      const line = this.#buffered.slice(0, end);
      this.#buffered = this.#buffered.slice(end + 1);
      if (line.trim() !== "") this.#message(line);
    }
    if (this.#buffered.length > LINE_MAX_CHARS) this.#socket.destroy(new QmpError("endless line"));
    this.#pauseReading(this.#unasked.pauseMs(performance.now()));
  }

  #pauseReading(pauseMs: number): void {
    if (pauseMs === 0) return;
    this.#socket.pause();
    setTimeout(() => this.#socket.resume(), pauseMs).unref();
  }

  #message(line: string): void {
    const message = objectOf(line);
    if (message === undefined) {
      this.#socket.destroy(new QmpError("not a JSON object"));
      return;
    }
    const isEvent = message["event"] !== undefined;
    if (isEvent || this.#questions.length === 0) this.#unasked.spend(1 + line.length / UNASKED_CHARS);
    if (isEvent) {
      if (message["event"] === "SHUTDOWN") this.#shutdownReason = reasonOf(message["data"]);
      if (message["event"] === "STOP") void this.#askWhyStopped();
      return;
    }
    const question = this.#questions.shift();
    if (question === undefined) return;
    clearTimeout(question.hung);
    if (message["error"] === undefined) question.resolve(message["return"] ?? message["QMP"]);
    else question.reject(new QmpError(`${question.command}: ${descriptionOf(message["error"])}`));
  }

  /** Mostly because it was told to. One question at a time, however often QEMU says so. */
  async #askWhyStopped(): Promise<void> {
    if (this.#asksWhyStopped) return;
    this.#asksWhyStopped = true;
    const state = await runState(this).catch(() => undefined);
    this.#asksWhyStopped = false;
    if (state === GIVEN_UP) this.#givenUp.resolve();
  }

  #fail(error: Error): void {
    for (const question of this.#questions.splice(0)) {
      clearTimeout(question.hung);
      question.reject(error);
    }
  }
}

function objectOf(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Ends up in the VM's `reason`, so only a word of QEMU's own kind passes. */
function reasonOf(data: unknown): string {
  const reason = (data as { reason?: unknown } | null | undefined)?.reason;
  return typeof reason === "string" && /^[a-z-]{1,40}$/.test(reason) ? reason : "unknown";
}

function descriptionOf(error: unknown): string {
  const description = (error as { desc?: unknown } | null)?.desc;
  return typeof description === "string" ? description : "no reason given";
}

/** `running`, `paused`, …: QEMU's RunState. */
export async function runState(qmp: Pick<Qmp, "execute">): Promise<string | undefined> {
  return ((await qmp.execute("query-status")) as { status?: string }).status;
}

/** Polls until a migration has completed; it takes a few milliseconds, because memory is not part of it. */
export async function migrationCompleted(qmp: Qmp, signal: AbortSignal): Promise<void> {
  for (;;) {
    const info = (await qmp.execute("query-migrate")) as { status?: string; "error-desc"?: string };
    if (info.status === "completed") return;
    if (info.status === "failed")
      throw new QmpError(`migration failed: ${info["error-desc"] ?? "no reason given"}`);
    await sleep(1, undefined, { signal });
  }
}
