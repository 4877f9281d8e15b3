// Port 80 of guests whose policy decides by names: each request is decided by its own `Host`, and passed on
// to where the name leads.

import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { nameInHost } from "./decide-name.ts";
import { findWay } from "./find-way.ts";
import type { Guest, Guests } from "./guests.ts";
import { forwardedFields } from "./http-fields.ts";
import { BAD_GATEWAY, FORBIDDEN, HttpPassing, pathOf, type Decision } from "./http-passing.ts";
import { ServerConnections } from "./server-connections.ts";

const HTTP_PORT = 80;

export function httpDoor(guests: Guests): Server {
  const passing = new HttpPassing<undefined>({
    guests,
    port: HTTP_PORT,
    decide: ({ connection }, request) => decide(connection.guest, request),
  });
  passing.server.on("connection", (client: Socket) => {
    client.on("error", () => client.destroy());
    const connection = guests.admit(client.remoteAddress ?? "", HTTP_PORT, client);
    if (connection === undefined) return void client.resetAndDestroy();
    client.once("close", () => guests.release(connection));
    const agent = new ServerConnections(guests, connection.guest);
    passing.enter(client, { connection, agent, site: undefined });
  });
  return passing.server;
}

async function decide(guest: Guest, request: IncomingMessage): Promise<Decision> {
  const asked = nameAsked(request, HTTP_PORT);
  if (typeof asked === "object") {
    guest.refuse({ rule: "no_domain", port: HTTP_PORT, protocol: "tcp" });
    return { refused: asked.fault, status: FORBIDDEN };
  }
  const way = await findWay(guest, asked, HTTP_PORT);
  if (way.kind !== "open")
    return { refused: way.why, status: way.kind === "refused" ? FORBIDDEN : BAD_GATEWAY };
  const fields = forwardedFields(request.rawHeaders);
  return { to: way.to, path: pathOf(request), fields, hidden: [] };
}

/** The canonical name that the request is for. */
export function nameAsked(
  { rawHeaders, url = "" }: IncomingMessage,
  port: number,
): string | { readonly fault: string } {
  const hosts = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === "host",
  );
  const [host] = hosts;
  if (host === undefined || hosts.length > 1) return { fault: "a request needs exactly one Host" };
  const name = nameInHost(host, port);
  if (name === undefined) return { fault: "its Host is not a name" };
  if (url.startsWith("/") || url === "*") return name;
  const [, authority = ""] = /^https?:\/\/([^/?#]*)/i.exec(url) ?? [];
  return nameInHost(authority, port) === name ? name : { fault: "its target and its Host do not agree" };
}
