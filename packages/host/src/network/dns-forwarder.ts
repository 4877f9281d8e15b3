// Receives the DNS queries of guests at an address of the host's range, on this machine's side of the slots.
// Queries go on to the machine's own name servers as they are, datagrams as datagrams and streams as streams.
// The rules of a slot decide whether its guest may ask; this class bounds what one guest can use, so that the
// others get their answers.

import { createSocket, type Socket as DatagramSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import type { Logger } from "pino";
import type { NameServer } from "./name-servers.ts";
import { sendDnsQuery } from "./dns-query.ts";
import { DnsStreamRelay } from "./dns-stream.ts";
import { FairShare } from "./fair-share.ts";

export interface DnsForwarderOptions {
  readonly address: string;
  readonly port: number;
  /** Asked for every query, because the machine's own change. */
  readonly servers: () => Promise<readonly NameServer[]>;
  readonly log: Logger;
}

/** Queries under way, of all guests and of one. A silent server holds a query for 2 s, so 16 guests can
 *  hold all; from then on they share (`fair-share.ts`): of 100 guests, which is what one organization may
 *  have, each holds 5 or 6, and a guest beside them gets 4 at least. Only where 512 guests ask without end
 *  another one waits for an answer to one of theirs. */
const QUERIES = { all: 512, each: 32 } as const;
const HEADER_BYTES = 12;
const SERVER_FAILURE = 2;

export class DnsForwarder {
  readonly #options: DnsForwarderOptions;
  readonly #datagrams: DatagramSocket;
  readonly #streams: Server;
  readonly #relay: DnsStreamRelay;
  /** A function for each query under way that ends it. */
  readonly #queries = new FairShare<AbortController>(QUERIES, (query) => query.abort());
  #closed = false;

  private constructor(options: DnsForwarderOptions) {
    this.#options = options;
    this.#relay = new DnsStreamRelay(options.servers);
    this.#datagrams = createSocket("udp4");
    this.#datagrams.on("message", (query, { address, port }) => this.#take(query, address, port));
    this.#streams = createServer({ allowHalfOpen: true }, (client) => this.#relay.take(client));
  }

  static async open(options: DnsForwarderOptions): Promise<DnsForwarder> {
    const forwarder = new DnsForwarder(options);
    try {
      await forwarder.#listen();
    } catch (error) {
      await forwarder.close();
      throw error;
    }
    return forwarder;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const query of this.#queries.all()) query.abort();
    this.#relay.close();
    await Promise.all([
      new Promise<void>((resolve) => this.#streams.close(() => resolve())),
      new Promise<void>((resolve) => this.#datagrams.close(resolve)),
    ]);
  }

  async #listen(): Promise<void> {
    const { address, port, log } = this.#options;
    this.#datagrams.bind(port, address);
    await once(this.#datagrams, "listening");
    this.#streams.listen(port, address);
    await once(this.#streams, "listening");
    // From here on an error has no other listener; a single failed datagram must not end the forwarder.
    this.#datagrams.on("error", (error) => log.warn({ err: error }, "the name forwarder's socket failed"));
    this.#streams.on("error", (error) => log.warn({ err: error }, "the name forwarder's listener failed"));
  }

  /** Queries over the limit are dropped, as by a busy server; the guest repeats them. */
  #take(query: Buffer, address: string, port: number): void {
    // There is no way back to port 0, and to send there throws.
    if (port === 0) return;
    const underWay = new AbortController();
    if (this.#closed || query.length < HEADER_BYTES || !this.#queries.take(address, underWay)) return;
    void this.#answer(query, underWay.signal)
      .then((answer) => {
        if (!underWay.signal.aborted) this.#datagrams.send(answer, port, address, () => undefined);
      })
      // A query that cannot be asked or answered is one that is lost; the guest repeats it.
      .catch((error: unknown) => this.#options.log.debug({ err: error }, "a name query failed"))
      .finally(() => this.#queries.release(address, underWay));
  }

  async #answer(query: Buffer, signal: AbortSignal): Promise<Buffer> {
    for (const server of await this.#options.servers()) {
      if (signal.aborted) break;
      const answer = await sendDnsQuery(server, query, signal);
      if (answer !== undefined) return answer;
    }
    return failureFor(query);
  }
}

/** The query's header and nothing else, as an answer that says that there is none. */
function failureFor(query: Buffer): Buffer {
  const answer = Buffer.alloc(HEADER_BYTES);
  query.copy(answer, 0, 0, 2);
  answer[2] = 0x80 | ((query[2] ?? 0) & 0x79);
  answer[3] = 0x80 | SERVER_FAILURE;
  return answer;
}
