// Connections over TLS whose requests may get secrets on their way: the authority of the VM stands for the
// server, and each request is decided by itself and passed on over TLS to where the name leads by this
// machine's own lookup. The guest speaks the version of HTTP with it that the server speaks.

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { createServer, type SecureContext } from "node:tls";
import type { Hello } from "./client-hello.ts";
import { findWay } from "./find-way.ts";
import type { Connection, Destination, Guest, Guests } from "./guests.ts";
import { nameAsked } from "./http-door.ts";
import { forwardedFields } from "./http-fields.ts";
import { BAD_GATEWAY, FORBIDDEN, HttpPassing, MISDIRECTED, pathOf, type Decision } from "./http-passing.ts";
import { passHttp2 } from "./http2-passing.ts";
import type { Asked } from "./injecting.ts";
import { connectSecurely, SecureConnections } from "./secure-connections.ts";

const TLS_PORT = 443;
const HANDSHAKE_DEADLINE_MS = 10_000;
const HANDSHAKE_TURNS = 10;
const [HTTP1, HTTP2] = ["http/1.1", "h2"];

interface Taken {
  readonly connection: Connection;
  readonly hello: Hello;
  /** The server, whose name the hello has. */
  readonly to: Destination;
}

export class InjectingDoor {
  readonly #guests: Guests;
  readonly #trusted: SecureContext;
  readonly #passing: HttpPassing<string>;

  /** `trusted`: certificates that servers are trusted by. */
  constructor(guests: Guests, trusted: SecureContext) {
    this.#guests = guests;
    this.#trusted = trusted;
    this.#passing = new HttpPassing<string>({
      guests,
      port: TLS_PORT,
      decide: ({ connection, site }, request) => decideRequest(connection.guest, site, request),
    });
    // A server that listens looks at the deadlines of its connections, and this one gets them from elsewhere.
    this.#passing.server.emit("listening");
  }

  /** False where the guest has no authority now, and nothing may pass. */
  async take(client: Socket, { connection, hello, to }: Taken): Promise<boolean> {
    const { name } = to;
    const secureContext = connection.guest.policy.injection.authority?.contextOf(name);
    if (secureContext === undefined) return false;
    // A handshake costs this process as much as several requests.
    await connection.guest.takeTurn(HANDSHAKE_TURNS);
    const server = { name, trusted: this.#trusted };
    // A server that cannot be reached is told of in answers.
    const first = hello.protocols.includes(HTTP2)
      ? await connectSecurely(server, to.address, [HTTP2, HTTP1]).catch(() => undefined)
      : undefined;
    first?.on("error", () => undefined);
    if (client.destroyed) {
      first?.destroy();
      return true;
    }
    const isHttp2 = first?.alpnProtocol === HTTP2;
    // A server for this connection alone: a common one could not tell whose authority it is to show.
    const handshake = createServer({
      ALPNProtocols: isHttp2 ? [HTTP2, HTTP1] : [HTTP1],
      handshakeTimeout: HANDSHAKE_DEADLINE_MS,
      ca: [],
      SNICallback: (_name, done) => done(null, secureContext),
    });
    handshake.on("tlsClientError", () => client.destroy());
    client.once("close", () => first?.destroy());
    handshake.once("secureConnection", (secure) => {
      secure.on("error", () => client.destroy());
      client.once("close", () => secure.destroy());
      const { guest } = connection;
      if (first !== undefined && secure.alpnProtocol === HTTP2)
        return passHttp2(secure, {
          ...{ guests: this.#guests, connection, to, first },
          again: (address) => connectSecurely(server, address, [HTTP2]),
          decide: (asked) => decide(guest, asked),
        });
      if (isHttp2) first?.destroy();
      const own = isHttp2 || first === undefined ? undefined : { socket: first, address: to.address };
      const agent = new SecureConnections(this.#guests, guest, { ...server, first: own });
      this.#passing.enter(secure, { connection, agent, site: name });
      return void this.#passing.server.emit("connection", secure);
    });
    client.unshift(hello.bytes);
    handshake.emit("connection", client);
    return true;
  }
}

async function decideRequest(guest: Guest, name: string, request: IncomingMessage): Promise<Decision> {
  const asked = nameAsked(request, TLS_PORT);
  if (typeof asked === "object") {
    guest.refuse({ rule: "no_domain", port: TLS_PORT, protocol: "tcp", name });
    return { refused: asked.fault, status: MISDIRECTED };
  }
  // A secret for one name must not go where the guest says that another one is.
  if (asked !== name) return { refused: `this connection is for ${name} alone`, status: MISDIRECTED };
  return decide(guest, {
    ...{ name, method: request.method ?? "", path: pathOf(request) },
    fields: forwardedFields(request.rawHeaders),
  });
}

async function decide(guest: Guest, asked: Asked): Promise<Decision> {
  const way = await findWay(guest, asked.name, TLS_PORT);
  if (way.kind !== "open")
    return { refused: way.why, status: way.kind === "refused" ? FORBIDDEN : BAD_GATEWAY };
  // After the lookup: the values of now count.
  const injected = guest.policy.injection.apply(asked);
  if ("missing" in injected)
    return {
      refused: `secret_unavailable: the secret ${injected.missing} is not there, or is none that this place can have`,
      status: BAD_GATEWAY,
    };
  for (const secret of injected.secrets) guest.noteInjected(asked.name, secret);
  const { path, fields } = injected;
  return { to: way.to, path, fields, hidden: guest.policy.injection.hiddenFrom(asked.name) };
}
