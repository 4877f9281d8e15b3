// Reads what `pg_restore --data-only --file=-` writes: a script of SQL. The dump may have been written to do harm, so no line of it is ever
// executed: of its statements only three kinds are recognized, and their names and values are handed on as data.

/** `rows` are lines of COPY's text format. They have to be read, or skipped, before the next part is asked for. */
export interface TablePart {
  readonly kind: "table";
  /** A name in the schema `public`; undefined where the statement names another table, or is no statement that pg_dump writes for ours. */
  readonly table: string | undefined;
  readonly columns: readonly string[];
  /** For messages: printable, and of a bounded length. */
  readonly shown: string;
  readonly rows: AsyncIterable<Buffer>;
}

export interface SequencePart {
  readonly kind: "sequence";
  readonly sequence: string;
  readonly value: string;
  readonly isCalled: boolean;
}

/** Of the rows that follow. */
export interface EncodingPart {
  readonly kind: "encoding";
  readonly encoding: string;
}

export type DumpPart = TablePart | SequencePart | EncodingPart;

/** pg_dump's longest line that is read here names the columns of one table. */
const LINE_MAX_BYTES = 64 * 1024;
const SHOWN_CHARS = 80;
const NEWLINE = 0x0a;
const END_OF_ROWS = Buffer.from("\n\\.\n");

const COPY = /^COPY (.*) FROM stdin;$/;
const OUR_TABLE = /^public\.(\w+|"\w+") \((\w+|"\w+")((?:, (?:\w+|"\w+"))*)\)$/;
const SETVAL = /^SELECT pg_catalog\.setval\('public\.(\w+)', (\d{1,19}), (true|false)\);$/;
const ENCODING = /^SET client_encoding = '([A-Za-z0-9_]{1,32})';$/;

export async function* readDump(script: AsyncIterable<Uint8Array>): AsyncGenerator<DumpPart> {
  const input = new Input(script);
  for (;;) {
    const line = await input.line();
    if (line === undefined) return;
    const part = partOf(line, input);
    if (part === undefined) continue;
    yield part;
    if (part.kind === "table") for await (const _ of part.rows);
  }
}

function partOf(line: string, input: Input): DumpPart | undefined {
  const [, target] = COPY.exec(line) ?? [];
  if (target !== undefined) {
    const [, table, first = "", others = ""] = OUR_TABLE.exec(target) ?? [];
    const columns = `${first}${others}`.split(", ").map(unquoted);
    const shown = target
      .replace(/ \(.*/, "")
      .replaceAll(/[^\w." -]/g, "?")
      .slice(0, SHOWN_CHARS);
    return {
      kind: "table",
      table: table === undefined ? undefined : unquoted(table),
      columns,
      shown,
      rows: input.rows(),
    };
  }
  const [, sequence, value = "", called] = SETVAL.exec(line) ?? [];
  if (sequence !== undefined) return { kind: "sequence", sequence, value, isCalled: called === "true" };
  const [, encoding] = ENCODING.exec(line) ?? [];
  return encoding === undefined ? undefined : { kind: "encoding", encoding };
}

function unquoted(name: string): string {
  return name.replaceAll('"', "");
}

class Input {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #buffer: Buffer = Buffer.alloc(0);

  constructor(script: AsyncIterable<Uint8Array>) {
    this.#chunks = script[Symbol.asyncIterator]();
  }

  /** Undefined at the end. A line that is longer than any of pg_dump's is empty: it means nothing here. */
  async line(): Promise<string | undefined> {
    let isTooLong = false;
    for (;;) {
      const end = this.#buffer.indexOf(NEWLINE);
      if (end >= 0) {
        const line = isTooLong || end > LINE_MAX_BYTES ? "" : this.#buffer.toString("utf8", 0, end);
        this.#buffer = this.#buffer.subarray(end + 1);
        return line;
      }
      if (this.#buffer.length > LINE_MAX_BYTES) {
        isTooLong = true;
        this.#buffer = Buffer.alloc(0);
      }
      if (!(await this.#more())) return undefined;
    }
  }

  /** Up to the line that ends them, which is not among them. Once they have ended there are none. */
  rows(): AsyncGenerator<Buffer> {
    // The newline before the first row, so that the mark is found there as well.
    this.#buffer = Buffer.concat([Buffer.from([NEWLINE]), this.#buffer]);
    return this.#rows();
  }

  async *#rows(): AsyncGenerator<Buffer> {
    for (let skipped = 1; ;) {
      const end = this.#buffer.indexOf(END_OF_ROWS);
      const whole = end >= 0 ? end + 1 : this.#buffer.length - lengthOfBegunMark(this.#buffer);
      const chunk = this.#buffer.subarray(Math.min(skipped, whole), whole);
      if (whole > 0) skipped = 0;
      this.#buffer = this.#buffer.subarray(end >= 0 ? end + END_OF_ROWS.length : whole);
      if (chunk.length > 0) yield chunk;
      if (end >= 0) return;
      if (!(await this.#more())) throw new Error("The dump ends in the middle of a table.");
    }
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done === true) return false;
    this.#buffer = this.#buffer.length === 0 ? Buffer.from(value) : Buffer.concat([this.#buffer, value]);
    return true;
  }
}

/** Bytes at the end that may turn out to begin the mark. */
function lengthOfBegunMark(buffer: Buffer): number {
  for (let length = END_OF_ROWS.length - 1; length > 0; length -= 1)
    if (buffer.length >= length && buffer.subarray(-length).equals(END_OF_ROWS.subarray(0, length)))
      return length;
  return 0;
}
