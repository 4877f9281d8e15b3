// What the user reads while a command waits: nothing for two seconds, then what it waits for and since when. On a terminal that is a moving
// line; in a log a line of its own, at most one in ten seconds.

import type { Writable } from "node:stream";
import type { MovingLine } from "./moving-line.ts";
import { measureFor, truncated } from "./text-width.ts";

/** Where the words go. */
export interface WaitScreen {
  readonly stream: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  /** A terminal that can draw over what it has shown. */
  readonly isAnimated: boolean;
  /** A program reads standard error: it gets nothing but errors. */
  readonly isSilent: boolean;
  /** Writes one line to a log. */
  readonly line: (text: string) => void;
}

const FIRST_WORD_MS = 2_000;
const LOG_EVERY_MS = 10_000;
const DRAW_EVERY_MS = 250;
const TITLE_MIN = 12;

/** How much of a transfer has gone through. */
export interface Transfer {
  add(bytes: number): void;
}

export interface WaitOptions {
  /** Why it may take long, where nothing better is known. */
  readonly hint?: string;
  /** Of a transfer, in bytes, where it is known. */
  readonly totalBytes?: number | undefined;
}

export class Waits {
  readonly #screen: WaitScreen;
  #current: Wait | undefined;
  /** Began with a request and not with the command: it ends with the answer. */
  #isOfRequest = false;

  constructor(screen: WaitScreen) {
    this.#screen = screen;
  }

  async during<Result>(
    text: string,
    work: (transfer: Transfer) => Promise<Result>,
    options: WaitOptions = {},
  ): Promise<Result> {
    this.#end();
    const wait = (this.#current = new Wait(this.#screen, text, options));
    this.#isOfRequest = false;
    if (this.#screen.isAnimated) wait.show();
    try {
      return await work(wait);
    } finally {
      if (this.#current === wait) this.#end();
    }
  }

  /** A request was sent; several tries are one wait. */
  beginRequest(text: string): void {
    if (this.#current !== undefined) return;
    this.#current = new Wait(this.#screen, text, {});
    this.#isOfRequest = true;
  }

  endRequest(): void {
    if (this.#isOfRequest) this.#end();
  }

  /** What has become known about the wait. */
  tell(reason: string): void {
    this.#current?.tell(reason);
  }

  /** What the wait was for, as is known at its end. It is said where it was long enough to wonder. */
  explain(explanation: string): void {
    this.#current?.explain(explanation);
  }

  #end(): void {
    this.#current?.end();
    this.#current = undefined;
    this.#isOfRequest = false;
  }
}

class Wait implements Transfer {
  readonly #screen: WaitScreen;
  readonly #text: string;
  readonly #startedMs = performance.now();
  readonly #totalBytes: number | undefined;
  #reason: string | undefined;
  #explanation: string | undefined;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #line: MovingLine | undefined;
  #isOver = false;

  constructor(screen: WaitScreen, text: string, { hint, totalBytes }: WaitOptions) {
    this.#screen = screen;
    this.#text = text;
    this.#reason = hint;
    this.#totalBytes = totalBytes;
    if (!screen.isSilent || screen.isAnimated) this.#after(FIRST_WORD_MS);
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  tell(reason: string): void {
    this.#reason = reason;
  }

  explain(explanation: string): void {
    this.#explanation = explanation;
  }

  /** On a terminal, before the first word is due. */
  show(): void {
    void import("./moving-line.ts").then(({ MovingLine: Line }) => {
      if (this.#isOver || this.#line !== undefined) return;
      this.#line = new Line(this.#screen.stream, this.#text);
      this.#after(DRAW_EVERY_MS);
    });
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#line?.stop();
    const wasLong = performance.now() - this.#startedMs >= FIRST_WORD_MS;
    if (wasLong && this.#explanation !== undefined && !this.#screen.isSilent)
      this.#screen.line(this.#explanation);
  }

  /** Never keeps the process alive. */
  #after(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#say(), ms).unref();
  }

  #say(): void {
    if (!this.#screen.isAnimated) {
      this.#screen.line(this.#text + this.#words());
      this.#after(LOG_EVERY_MS);
    } else if (this.#line === undefined) this.show();
    else {
      void this.#draw(this.#line);
      this.#after(DRAW_EVERY_MS);
    }
  }

  async #draw(line: MovingLine): Promise<void> {
    const words = this.#words();
    const { columns = 80 } = this.#screen.stream;
    // Two for the sign that moves; a line that breaks could not be drawn over. A long name is cut before the figures are.
    const room = columns - 3;
    const widthOf = await measureFor([this.#text, words]);
    const title = truncated(this.#text, Math.max(TITLE_MIN, room - widthOf(words)), widthOf);
    const shown = truncated(title + words, room, widthOf);
    if (!this.#isOver) line.text = shown;
  }

  /** What is said behind the text. */
  #words(): string {
    // Rounded up: a timer of Node may fire up to a millisecond early.
    const ms = Math.ceil(performance.now() - this.#startedMs);
    // A smaller transfer is over before a person sees its progress.
    if (this.#bytes > 0 && (this.#totalBytes ?? this.#bytes) >= MIB)
      return ` ${transferText(this.#bytes, this.#totalBytes, ms)}`;
    if (ms < FIRST_WORD_MS) return "";
    const since = ` (${Math.floor(ms / 1_000)} s)`;
    return this.#reason === undefined ? since : `${since}: ${this.#reason}`;
  }
}

const MIB = 1024 * 1024;
const BAR_CHARS = 20;

/** `[########------------]  40 %, 36.0 of 90.0 MiB, 12.3 MiB/s`. */
export function transferText(bytes: number, totalBytes: number | undefined, ms: number): string {
  const rate = `${(bytes / MIB / Math.max(ms / 1_000, 0.001)).toFixed(1)} MiB/s`;
  const done = (bytes / MIB).toFixed(1);
  if (totalBytes === undefined || totalBytes === 0) return `${done} MiB, ${rate}`;
  const part = Math.min(1, bytes / totalBytes);
  const bar = "#".repeat(Math.round(part * BAR_CHARS)).padEnd(BAR_CHARS, "-");
  const percent = String(Math.floor(part * 100)).padStart(3);
  return `[${bar}] ${percent} %, ${done} of ${(totalBytes / MIB).toFixed(1)} MiB, ${rate}`;
}
