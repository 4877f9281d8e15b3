// The caller of a request to the host API. On the unix socket it is control, because only control may
// connect; over TLS the certificate names it. Another host may call only the routes that allow it: those by
// which it sends a VM.

import type { IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import { SkerryError } from "@skerry/contract/errors";
import { peerNamed, type Peer } from "@skerry/contract/joining/host-certificate";
import type { FastifyRequest } from "fastify";
import type { HostServer } from "./conventions.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Also other hosts of the cluster may call the route. */
    hostsMayCall?: boolean;
  }
}

const known = new WeakMap<TLSSocket, Peer | undefined>();

/** Call it before the routes are registered. */
export function refuseStrangers(server: HostServer): void {
  server.addHook("onRequest", async (request) => {
    const caller = callerOf(request.raw);
    if (caller?.role === "control") return;
    if (caller?.role === "host" && request.routeOptions.config?.hostsMayCall === true) return;
    throw new SkerryError("forbidden", "The certificate of the caller does not allow this call.");
  });
}

/** Undefined where the certificate names neither control nor a host. */
export function callerOf({ socket }: Pick<IncomingMessage, "socket">): Peer | undefined {
  if (!(socket instanceof TLSSocket)) return { role: "control" };
  if (!known.has(socket)) known.set(socket, peerNamed(socket.getPeerX509Certificate()?.subjectAltName));
  return known.get(socket);
}

/** The call came through the socket on this machine. */
export function isLocal(request: FastifyRequest): boolean {
  return !(request.raw.socket instanceof TLSSocket);
}
