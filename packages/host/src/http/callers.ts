// Who calls the host API. On the unix socket that is control, because nobody else may connect; over TLS the certificate says it. A host may
// only call what says so: what it needs to hand over a VM.

import type { IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import { SkerryError } from "@skerry/contract/errors";
import { peerNamed, type Peer } from "@skerry/contract/host-identity";
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

/** Undefined: somebody whom the authority has certified as nobody that we know. */
export function callerOf({ socket }: Pick<IncomingMessage, "socket">): Peer | undefined {
  if (!(socket instanceof TLSSocket)) return { role: "control" };
  if (!known.has(socket)) known.set(socket, peerNamed(socket.getPeerX509Certificate()?.subjectAltName));
  return known.get(socket);
}

/** The call came through the socket on this machine. */
export function isLocal(request: FastifyRequest): boolean {
  return !(request.raw.socket instanceof TLSSocket);
}
