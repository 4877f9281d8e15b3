// Upgrades that are routes: the hooks that decide who may call see them like any other request.

import { ServerResponse, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { SkerryError } from "@skerry/contract/errors";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { HostServer } from "./conventions.ts";

export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** What came behind the request. */
  readonly head: Buffer;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

/** Leads an upgrade to its route. */
export function routeUpgrade(server: HostServer, upgrade: Upgrade): void {
  const { request, socket } = upgrade;
  socket.on("error", () => undefined); // "close" follows
  upgrades.set(request, upgrade);
  const response = new ServerResponse(request);
  // A refusal is the last answer: nothing parses what comes next on this connection.
  response.shouldKeepAlive = false;
  response.once("finish", () => socket.end());
  response.assignSocket(socket as Socket);
  server.routing(request, response);
}

/** In a route: accepts the upgrade and takes the connection over. Throws where the request asks for no upgrade to this protocol. */
export function acceptUpgrade(request: FastifyRequest, reply: FastifyReply, protocol: string): Duplex {
  const upgrade = upgrades.get(request.raw);
  if (upgrade === undefined || request.headers.upgrade !== protocol)
    throw new SkerryError("bad_request", `This call needs an upgrade to ${protocol}.`);
  const { socket, head } = upgrade;
  reply.hijack();
  reply.raw.detachSocket(socket as Socket);
  if (head.length > 0) socket.unshift(head);
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${protocol}\r\n\r\n`);
  return socket;
}
