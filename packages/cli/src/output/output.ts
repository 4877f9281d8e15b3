// All that the command line prints: results on stdout, everything said about them on stderr.

import { createColors } from "picocolors";
import type { Writable } from "node:stream";
import type { Failure } from "../errors/failure.ts";
import { tableText, type NarrowColumns, type TableLayout } from "./tables.ts";

/** The cursor at the top, and nothing below it. What is above can be scrolled back to. */
const CLEARED = "\u001b[H\u001b[2J";

type Terminal = Writable & { readonly isTTY?: boolean; readonly columns?: number };

export interface OutputOptions {
  readonly isColorWanted: boolean;
  /** What goes to standard error is JSON too, an object a line. */
  readonly isJson?: boolean;
}

export class Output {
  readonly #stdout: Terminal;
  readonly #stderr: Terminal;
  readonly #colors: ReturnType<typeof createColors>;
  readonly #isJson: boolean;

  constructor(stdout: Terminal, stderr: Terminal, { isColorWanted, isJson = false }: OutputOptions) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#isJson = isJson;
    // Only stderr has colors, so only stderr decides.
    this.#colors = createColors(isColorWanted && stderr.isTTY === true);
    // A failed write rejects where it was made; without a listener it would end the process as well.
    for (const stream of [stdout, stderr]) stream.on("error", () => undefined);
  }

  /** Raw bytes. Resolves when they have been taken, which is how a slow reader slows the sender down. */
  bytes(stream: "stdout" | "stderr", data: Uint8Array): Promise<void> {
    return written(stream === "stdout" ? this.#stdout : this.#stderr, data);
  }

  line(text: string): Promise<void> {
    return written(this.#stdout, `${printable(text)}\n`);
  }

  /** Lines of ours, such as a script. */
  text(text: string): Promise<void> {
    return written(this.#stdout, `${text}\n`);
  }

  json(value: unknown): Promise<void> {
    return written(this.#stdout, `${jsonText(value, 2)}\n`);
  }

  /** On one line, for what comes piece by piece. */
  jsonLine(value: unknown): Promise<void> {
    return written(this.#stdout, `${jsonText(value)}\n`);
  }

  async table(
    header: readonly string[],
    rows: readonly (readonly string[])[],
    narrow: NarrowColumns = {},
  ): Promise<void> {
    await this.#table([header, ...rows], { ...narrow, hasHeader: true });
    if (rows.length === 0 && this.#stdout.isTTY === true) await this.note("There are none.");
  }

  /** Names and values, one a line. */
  fields(fields: readonly (readonly [name: string, value: string])[]): Promise<void> {
    return this.#table(fields, { prose: [1], whole: [0] });
  }

  async #table(rows: readonly (readonly string[])[], layout: Omit<TableLayout, "columns">): Promise<void> {
    const columns = this.#stdout.isTTY === true ? this.#stdout.columns : undefined;
    const cells = rows.map((row) => row.map(printable));
    await written(this.#stdout, await tableText(cells, { ...layout, columns }));
  }

  /** Before what takes the place of what was written before: on a terminal that is gone, elsewhere an empty line is between them. */
  async beginAgain(isAgain: boolean): Promise<void> {
    if (this.#stdout.isTTY === true) await written(this.#stdout, CLEARED);
    else if (isAgain) await written(this.#stdout, "\n");
  }

  note(text: string): Promise<void> {
    if (this.#isJson) return written(this.#stderr, `${jsonText({ note: text })}\n`);
    return written(this.#stderr, `${this.#colors.dim(printable(text))}\n`);
  }

  /** Ends the line that the terminal has written `^C` into. */
  async interrupted(): Promise<void> {
    if (this.#stderr.isTTY === true) await written(this.#stderr, "\n").catch(() => undefined);
  }

  async failure(failure: Failure): Promise<void> {
    const text = this.#isJson ? `${jsonText(jsonFailure(failure))}\n` : this.#failureText(failure);
    // When stderr is gone there is no place left for a message.
    await written(this.#stderr, text).catch(() => undefined);
  }

  #failureText({ message, code, remediation, lines: more = [], requestId }: Failure): string {
    const lines = [
      `${this.#colors.red("error:")} ${printable(message)} (${printable(code)})`,
      ...(remediation === undefined ? [] : [printable(remediation)]),
      ...more.map((line) => this.#colors.dim(printable(line))),
      ...(requestId === undefined ? [] : [this.#colors.dim(`request: ${printable(requestId)}`)]),
    ];
    return `${lines.join("\n")}\n`;
  }
}

/** With the names that the API has for them. */
function jsonFailure({ code, message, remediation, lines, requestId }: Failure): object {
  return { code, message, remediation, lines, request_id: requestId };
}

/**
 * Names of files and sandboxes come from code that is not trusted: an escape sequence in one could rewrite the user's
 * screen, and a bidirectional control could reorder what is on it.
 */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, "0")}`
      : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** JSON leaves alone what a terminal obeys beyond ASCII: DEL, the C1 controls, and what turns the direction of text around. */
function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replaceAll(
    /[\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}

function written(stream: Writable, data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(data, (error) => (error == null ? resolve() : reject(error)));
  });
}
