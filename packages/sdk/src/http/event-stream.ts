// Server-sent events, as the HTML standard defines them, from chunks that may be cut anywhere.

export interface ServerEvent {
  /** `message` where the stream names none. */
  readonly event: string;
  readonly data: string;
  /** Its number, where it has one. */
  readonly id?: string | undefined;
}

/** Longest event, in characters. A chunk of output is at most 64 KiB before base64; the rest is room. */
export const EVENT_MAX_CHARS = 4 * 1024 * 1024;

/** The stream is not what it should be; nothing that follows can be trusted. */
export class EventStreamError extends TypeError {
  override readonly name = "EventStreamError";
}

/** The events of a stream, in order. An event that the end of the stream cut off is dropped, as the standard says. */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent, void> {
  const decoder = new TextDecoder();
  const lines = new Lines();
  const pending = new PendingEvent();
  for await (const chunk of chunks)
    for (const line of lines.push(decoder.decode(chunk, { stream: true }))) {
      const event = pending.take(line);
      if (event !== undefined) yield event;
    }
}

/** Cuts text at `\n`, `\r\n` and `\r`. Each character is looked at once, however small the pieces are. */
class Lines {
  #unfinished = "";
  /** The text so far ended with `\r`; a `\n` that comes next belongs to it. */
  #endedInCr = false;

  *push(text: string): Generator<string, void> {
    let start = this.#endedInCr && text.startsWith("\n") ? 1 : 0;
    if (text !== "") this.#endedInCr = text.endsWith("\r");
    const breaks = /\r\n|\n|\r/g;
    breaks.lastIndex = start;
    for (let found = breaks.exec(text); found !== null; found = breaks.exec(text)) {
      yield this.#unfinished + text.slice(start, found.index);
      this.#unfinished = "";
      start = breaks.lastIndex;
    }
    this.#unfinished += text.slice(start);
    if (this.#unfinished.length > EVENT_MAX_CHARS) throw new EventStreamError("a line is too long");
  }
}

class PendingEvent {
  #event = "";
  #data: string[] = [];
  #id: string | undefined;
  #chars = 0;

  /** Takes one line; the empty line that ends an event returns it. */
  take(line: string): ServerEvent | undefined {
    if (line === "") return this.#finish();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") this.#event = value;
    if (field === "data") this.#data.push(value);
    if (field === "id") this.#id = value;
    this.#chars += line.length;
    if (this.#chars > EVENT_MAX_CHARS) throw new EventStreamError("an event is too long");
    return undefined;
  }

  #finish(): ServerEvent | undefined {
    const finished =
      this.#data.length === 0
        ? undefined
        : {
            event: this.#event === "" ? "message" : this.#event,
            data: this.#data.join("\n"),
            ...(this.#id !== undefined && { id: this.#id }),
          };
    this.#event = "";
    this.#id = undefined;
    this.#data = [];
    this.#chars = 0;
    return finished;
  }
}
