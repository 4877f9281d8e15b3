// Lookups of guests whose policy decides by names: only names that the policy allows are looked up, and only addresses that it allows are
// answered. No other query leaves this machine, so names carry nothing out. There is no IPv6, and no hint about HTTP/3 or encrypted hellos.

import { createSocket, type Socket as DatagramSocket } from "node:dgram";
import { createServer, type Server } from "node:net";
import { canonicalName } from "@skerry/contract/domains";
import { sendDnsQuery, sendDnsQueryByStream } from "../network/dns-query.ts";
import { FairShare } from "../network/fair-share.ts";
import type { NameProxyOpening } from "../network/name-proxy-protocol.ts";
import type { NameServer } from "../network/name-servers.ts";
import { refusalOfAddress, refusalOfName } from "./decide-name.ts";
import {
  answerCodes,
  answerTo,
  plainQuery,
  readQuestion,
  recordTypes,
  type Question,
} from "./dns-message.ts";
import type { Guest, Guests } from "./guests.ts";
import type { Policy } from "./policy.ts";
import type { Resolved } from "./resolver.ts";

/** Under way, of all guests and of one. */
const QUERIES = { all: 512, each: 32 } as const;
/** Addresses, with the longest name, in the 512 bytes that every client takes. HTTP and TLS reach all that the name has by any of them. */
const ANSWERED_MAX = 15;
/** No question with its options is longer. */
const QUERY_MAX_BYTES = 1_024;
const STREAM_DEADLINE_MS = 10_000;
const DNS_PORT = 53;
const NO_ADDRESSES: ReadonlySet<number> = new Set([recordTypes.AAAA, recordTypes.SVCB, recordTypes.HTTPS]);

export interface DnsDoorOptions {
  readonly guests: Guests;
  readonly servers: () => Promise<readonly NameServer[]>;
  /** Has the host let the guest reach these by other protocols than HTTP and TLS. */
  readonly open: (led: Omit<NameProxyOpening, "opening">) => Promise<void>;
}

export class DnsDoor {
  readonly datagrams: DatagramSocket = createSocket("udp4");
  readonly streams: Server;
  readonly #options: DnsDoorOptions;
  readonly #queries = new FairShare<AbortController>(QUERIES, (query) => query.abort());

  constructor(options: DnsDoorOptions) {
    this.#options = options;
    // One datagram that could not be taken or sent must not end the process.
    this.datagrams.on("error", () => undefined);
    this.datagrams.on("message", (query, { address, port }) => {
      // There is no way back to port 0, and to send there throws.
      if (port === 0) return;
      void this.#answer(query, address, "udp")
        .then((answer) => {
          if (answer !== undefined) this.datagrams.send(answer, port, address, () => undefined);
        })
        .catch(() => undefined);
    });
    this.streams = createServer((client) => {
      client.on("error", () => client.destroy());
      const address = client.remoteAddress ?? "";
      // It has a place among the guest's connections, as those to servers.
      const connection = options.guests.admit(address, DNS_PORT, client);
      if (connection === undefined) return void client.resetAndDestroy();
      const deadline = setTimeout(() => client.destroy(), STREAM_DEADLINE_MS);
      client.once("close", () => {
        clearTimeout(deadline);
        options.guests.release(connection);
      });
      let held = Buffer.alloc(0);
      client.on("data", (bytes: Buffer) => {
        held = Buffer.concat([held, bytes]);
        const end = held.length < 2 ? Infinity : 2 + held.readUInt16BE(0);
        if (held.length >= 2 && end > QUERY_MAX_BYTES) return void client.destroy();
        if (held.length < end) return;
        client.pause();
        // One query each: who has another one connects again.
        void this.#answer(held.subarray(2, end), address, "tcp")
          .then((answer) => {
            if (answer === undefined) return void client.destroy();
            const length = Buffer.alloc(2);
            length.writeUInt16BE(answer.length);
            client.end(Buffer.concat([length, answer]));
          })
          .catch(() => client.destroy());
      });
    });
  }

  /** Undefined where there is nothing to say. Never rejects. */
  async #answer(query: Buffer, address: string, protocol: "udp" | "tcp"): Promise<Buffer | undefined> {
    const guest = this.#options.guests.get(address);
    const question = readQuestion(query);
    const underWay = new AbortController();
    if (guest === undefined || question === undefined || !this.#queries.take(address, underWay))
      return undefined;
    try {
      return await this.#answerOf(guest, question, { protocol, signal: underWay.signal });
    } catch {
      return answerTo(question, answerCodes.serverFailure);
    } finally {
      this.#queries.release(address, underWay);
    }
  }

  async #answerOf(
    guest: Guest,
    question: Question,
    { protocol, signal }: { readonly protocol: "udp" | "tcp"; readonly signal: AbortSignal },
  ): Promise<Buffer> {
    const name = canonicalName(question.name);
    if (name === undefined) return answerTo(question, answerCodes.noSuchName);
    // It may change while servers are asked.
    const { policy } = guest;
    const rule = refusalOfName(policy, name);
    if (rule !== undefined) {
      guest.refuse({ rule, name, port: DNS_PORT, protocol });
      return answerTo(question, answerCodes.noSuchName);
    }
    if (question.type !== recordTypes.A) {
      if (NO_ADDRESSES.has(question.type)) return answerTo(question, answerCodes.good);
      return this.#forward(question, protocol, signal);
    }
    const resolved = await guest.resolver.resolve(name);
    if (resolved === undefined) return answerTo(question, answerCodes.serverFailure);
    const addresses = resolved.addresses.filter((address) => {
      const refused = refusalOfAddress(policy, address, "lookup");
      if (refused !== undefined) guest.refuse({ rule: refused, name, address, port: DNS_PORT, protocol });
      return refused === undefined;
    });
    const none = resolved.addresses.length === 0 ? answerCodes.noSuchName : answerCodes.good;
    const answered = addresses.slice(0, ANSWERED_MAX);
    await this.#open(guest.address, policy, { addresses: answered, ttlS: resolved.ttlS });
    return answerTo(question, addresses.length === 0 ? none : answerCodes.good, {
      addresses: answered,
      ttlS: resolved.ttlS,
    });
  }

  /** Where the mode opens what names do not, there is nothing to open. */
  async #open(guest: string, policy: Policy, { addresses, ttlS }: Resolved): Promise<void> {
    const reached = addresses.filter(
      (address) => refusalOfAddress(policy, address, "connection") === undefined,
    );
    if (policy.mode === "allow_all" || reached.length === 0) return;
    await this.#options.open({ guest, mark: policy.mark, addresses: reached, ttl_s: ttlS });
  }

  async #forward(question: Question, protocol: "udp" | "tcp", signal: AbortSignal): Promise<Buffer> {
    const ask = protocol === "udp" ? sendDnsQuery : sendDnsQueryByStream;
    for (const server of await this.#options.servers()) {
      if (signal.aborted) break;
      const answer = await ask(server, plainQuery(question), signal);
      if (answer !== undefined) return answer;
    }
    return answerTo(question, answerCodes.serverFailure);
  }
}
