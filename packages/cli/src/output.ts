// All that the command line prints: results on stdout, everything said about them on stderr.

import { createColors } from "picocolors";
import type { Writable } from "node:stream";
import type { Failure } from "./errors.ts";

type Terminal = Writable & { readonly isTTY?: boolean };

export class Output {
  readonly #stdout: Terminal;
  readonly #stderr: Terminal;
  readonly #colors: ReturnType<typeof createColors>;

  constructor(stdout: Terminal, stderr: Terminal, isColorWanted: boolean) {
    this.#stdout = stdout;
    this.#stderr = stderr;
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

  json(value: unknown): Promise<void> {
    return written(this.#stdout, `${jsonText(value, 2)}\n`);
  }

  /** On one line, for what comes piece by piece. */
  jsonLine(value: unknown): Promise<void> {
    return written(this.#stdout, `${jsonText(value)}\n`);
  }

  table(header: readonly string[], rows: readonly (readonly string[])[]): Promise<void> {
    return written(this.#stdout, tableText([header, ...rows]));
  }

  /** Names and values, one a line. */
  fields(fields: readonly (readonly [name: string, value: string])[]): Promise<void> {
    return written(this.#stdout, tableText(fields));
  }

  note(text: string): Promise<void> {
    return written(this.#stderr, `${this.#colors.dim(printable(text))}\n`);
  }

  async failure({ message, code, remediation, lines: more = [], requestId }: Failure): Promise<void> {
    const lines = [
      `${this.#colors.red("error:")} ${printable(message)} (${printable(code)})`,
      ...(remediation === undefined ? [] : [printable(remediation)]),
      ...more.map((line) => this.#colors.dim(printable(line))),
      ...(requestId === undefined ? [] : [this.#colors.dim(`request: ${printable(requestId)}`)]),
    ];
    // When stderr is gone there is no place left for a message.
    await written(this.#stderr, `${lines.join("\n")}\n`).catch(() => undefined);
  }

  /** Shows that something is going on, to a person at a terminal. */
  async spin<Result>(text: string, work: () => Promise<Result>): Promise<Result> {
    if (this.#stderr.isTTY !== true) return work();
    const { default: makeSpinner } = await import("yocto-spinner");
    // Its own signal handling would end the process before the request is aborted.
    const spinner = makeSpinner({ text, stream: this.#stderr, handleSignals: false }).start();
    try {
      return await work();
    } finally {
      spinner.stop();
    }
  }
}

/** Columns two spaces apart. */
function tableText(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(printable));
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  const lines = cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  return `${lines.join("\n")}\n`;
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
