// Connections to the ports of a guest, and what listens on them.

import { once } from "node:events";
import type { Duplex } from "node:stream";
import { Type } from "typebox";
import { PORT_CONNECTIONS_MAX, PORTS_MAX } from "@skerry/contract/bounds";
import {
  encodeFrame,
  encodeHeader,
  encodeJson,
  encodeWindow,
  FrameError,
  FrameParser,
  frameTypes,
  WINDOW_BYTES,
  type Frame,
} from "@skerry/contract/frames";
import { PORT_PROTOCOL, type ListeningPort, type ListeningPorts } from "@skerry/contract/host-api/ports";
import { ExecutionQuery } from "@skerry/contract/host-api/vm";
import { connectPort, readList, streamError } from "../guest/agent.ts";
import { natural } from "../guest/numbers.ts";
import type { GuestStream } from "../guest/stream.ts";
import type { Host } from "../app/host.ts";
import { asSkerryError, VmParams, type HostServer } from "./conventions.ts";
import { acceptUpgrade } from "./upgrades.ts";
import { VmCounts } from "./vm-counts.ts";

const PortParams = Type.Object({
  ...VmParams.properties,
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
});

/** An address and a program's name, which has 16 bytes. */
const PORT_LINES = { entriesMax: PORTS_MAX, lineMaxBytes: 2_048, maxBytes: PORTS_MAX * 2_048 };

export function registerPorts(server: HostServer, { engine }: Host): void {
  const connections = new VmCounts(PORT_CONNECTIONS_MAX, "connections to ports");

  server.get(
    "/vms/:id/ports",
    { schema: { params: VmParams, querystring: ExecutionQuery } },
    async (request): Promise<ListeningPorts> => {
      using guest = await engine.use(request.params.id, request.query.execution_id);
      const list = await readList(
        guest.channel,
        { op: "ports", limit: PORTS_MAX },
        { bounds: PORT_LINES, entryOf: listeningPortOf },
      );
      // A port that is none was told by an agent that is not ours.
      return { items: list.entries.filter(({ port }) => port > 0), truncated: list.truncated };
    },
  );

  server.get(
    "/vms/:id/ports/:port",
    { schema: { params: PortParams, querystring: ExecutionQuery } },
    async (request, reply) => {
      const { id, port } = request.params;
      // At once, so that also what is refused is told in a frame: a client does not get to read another answer to an upgrade.
      const socket = acceptUpgrade(request, reply, PORT_PROTOCOL);
      try {
        using _counted = connections.take(id);
        using guest = await engine.useUntilHeld(id, request.query.execution_id, () => socket.destroy());
        const stream = await connectPort(guest.channel, port);
        if (socket.destroyed) return stream.cancel();
        socket.write(encodeJson(frameTypes.head, STREAM, {}));
        await carry(stream, socket);
      } catch (error) {
        socket.end(encodeJson(frameTypes.reset, STREAM, asSkerryError(error as Error).toBody()));
      }
    },
  );
}

/** Each connection carries one stream. */
const STREAM = 1;

/** Both ways until both have ended. */
async function carry(stream: GuestStream, socket: Duplex): Promise<void> {
  socket.once("close", () => stream.cancel());
  await Promise.all([readFrames(socket, new GuestInput(stream, socket)), fromGuest(stream, socket)]);
}

/** Reads on whatever the guest does: a connection that is not read does not tell that it was closed. */
async function readFrames(socket: Duplex, input: GuestInput): Promise<void> {
  const parser = new FrameParser();
  try {
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      for (const frame of parser.push(chunk as Buffer)) input.take(frame);
    }
  } catch {
    // It broke off, or broke the protocol: no different from its end.
  }
  // Control leaves the end of the connection to us, so this end is one of its process, or of its patience.
  input.cancel();
}

const GRANT_BYTES = WINDOW_BYTES / 4;

/** What control has sent and the guest has not taken yet: no more than the window that control has. */
class GuestInput {
  readonly #stream: GuestStream;
  readonly #socket: Duplex;
  #credit = WINDOW_BYTES;
  #ungranted = 0;
  #hasEnded = false;
  #written: Promise<void> = Promise.resolve();

  constructor(stream: GuestStream, socket: Duplex) {
    this.#stream = stream;
    this.#socket = socket;
  }

  /** Throws where control breaks the protocol. */
  take({ type, payload }: Frame): void {
    if (type === frameTypes.reset) return this.cancel();
    if (this.#hasEnded) throw new FrameError("it went on after its end");
    if (type === frameTypes.close) {
      this.#hasEnded = true;
      this.#written = this.#written.then(() => this.#stream.end());
    } else if (type === frameTypes.data && payload.length <= this.#credit) {
      this.#credit -= payload.length;
      this.#written = this.#written.then(() => this.#write(payload));
    } else {
      throw new FrameError("it sent what it may not");
    }
  }

  cancel(): void {
    this.#stream.cancel();
  }

  async #write(payload: Buffer): Promise<void> {
    await this.#stream.write(payload);
    this.#ungranted += payload.length;
    if (this.#ungranted < GRANT_BYTES || this.#socket.destroyed) return;
    this.#credit += this.#ungranted;
    this.#socket.write(encodeWindow(STREAM, this.#ungranted));
    this.#ungranted = 0;
  }
}

async function fromGuest(stream: GuestStream, socket: Duplex): Promise<void> {
  for (let output = await stream.read(); output !== undefined; output = await stream.read()) {
    if (socket.destroyed) return;
    socket.cork();
    socket.write(encodeHeader(frameTypes.data, STREAM, output.bytes.length));
    const hasRoom = socket.write(output.bytes);
    socket.uncork();
    if (!hasRoom) await drained(socket);
  }
  try {
    // The other direction may go on.
    const goesOn = !stream.ended;
    if (goesOn) socket.write(encodeFrame(frameTypes.close, STREAM));
    await stream.result();
    socket.end(goesOn ? undefined : encodeFrame(frameTypes.close, STREAM));
  } catch (error) {
    const body = asSkerryError(streamError(error)).toBody();
    socket.end(encodeJson(frameTypes.reset, STREAM, body));
  }
}

async function drained(socket: Duplex): Promise<void> {
  const over = new AbortController();
  const gone = once(socket, "close", { signal: over.signal });
  await Promise.race([once(socket, "drain", { signal: over.signal }), gone]).catch(() => undefined);
  over.abort();
  gone.catch(() => undefined);
}

function listeningPortOf(line: Readonly<Record<string, unknown>>): ListeningPort {
  const { port, address, process } = line;
  const number = natural(port);
  return {
    port: number <= 65_535 ? number : 0,
    address: textOf(address),
    process: textOf(process),
  };
}

const TEXT_MAX_CHARS = 50;

function textOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, TEXT_MAX_CHARS).toWellFormed() : "";
}
