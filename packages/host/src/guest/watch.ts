// A watch of a folder in a guest. Events are handed on as they come, so a caller that is slow makes the guest wait, whose queue then overflows.

import { PATH_MAX_BYTES } from "@skerry/contract/bounds";
import { SkerryError } from "@skerry/contract/errors";
import { FrameError, parseJsonPayload } from "@skerry/contract/frames";
import { fileEvents, type FileEvent } from "@skerry/contract/vms/watches";
import { resultOf } from "./agent.ts";
import type { GuestChannel } from "./channel.ts";
import { isPathBelow } from "./path-below.ts";
import { patiently, SHORT_DEADLINE_MS } from "./patience.ts";
import type { GuestStream } from "./stream.ts";

/** A path, of which each byte may need an escape, and two words. */
const LINE_MAX_BYTES = 32 * 1024;
const NAME_MAX_BYTES = 255;
const NEWLINE = 0x0a;

export class GuestWatch {
  readonly #channel: GuestChannel;
  readonly #stream: GuestStream;
  #rest: Buffer = Buffer.alloc(0);
  readonly #events: FileEvent[] = [];

  private constructor(channel: GuestChannel, stream: GuestStream) {
    this.#channel = channel;
    this.#stream = stream;
  }

  /** Resolves when it watches. Throws SkerryError where the folder is none, or is too much to watch. */
  static async open(channel: GuestChannel, path: string, recursive: boolean): Promise<GuestWatch> {
    const stream = channel.open({ op: "watch", path, recursive });
    const watch = new GuestWatch(channel, stream);
    const first = await patiently(channel, stream, { deadlineMs: SHORT_DEADLINE_MS }, watch.read());
    if (first === undefined) await watch.end();
    if (first?.event !== "start") return watch.#lied("it told events of a watch before its beginning");
    return watch;
  }

  /** The next event; undefined after the last one. */
  async read(): Promise<FileEvent | undefined> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) return event;
      const output = await this.#stream.read();
      if (output === undefined) return undefined;
      this.#take(output.bytes);
    }
  }

  /** Call it when there are no events left. Resolves where the folder is gone; throws why it has ended otherwise. */
  async end(): Promise<void> {
    await resultOf(this.#stream);
  }

  cancel(): void {
    this.#stream.cancel();
  }

  #take(bytes: Buffer): void {
    const text = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    let from = 0;
    for (let end = text.indexOf(NEWLINE); end >= 0; end = text.indexOf(NEWLINE, from)) {
      this.#events.push(this.#eventOf(text.subarray(from, end)));
      from = end + 1;
    }
    if (text.length - from > LINE_MAX_BYTES) this.#lied("a line of a watch is too long");
    this.#rest = Buffer.from(text.subarray(from));
  }

  #eventOf(line: Buffer): FileEvent {
    const { event: told, name: path, type } = this.#jsonOf(line);
    const event = fileEvents.find((one) => one === told);
    if (event === undefined || typeof path !== "string") return this.#lied("it told an event that is none");
    // Of the folder itself it is empty.
    if ((path !== "" && !isPathBelow(path)) || Buffer.byteLength(path) > PATH_MAX_BYTES + NAME_MAX_BYTES)
      return this.#lied("it told an event of a path that is none");
    return { event, path, type: type === "directory" ? "directory" : "file" };
  }

  #jsonOf(line: Buffer): Readonly<Record<string, unknown>> {
    try {
      return parseJsonPayload(line);
    } catch (error) {
      if (error instanceof FrameError) return this.#lied("a line of a watch is no object");
      throw error;
    }
  }

  /** Ends the VM, with the reason. */
  #lied(what: string): never {
    this.#channel.close(`the guest's agent broke the protocol: ${what}`);
    throw new SkerryError("guest_failed", "The VM's agent told something of a watch that cannot be.");
  }
}
