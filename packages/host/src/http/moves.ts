// The routes of moves, for control and for the source host. Data from the source is admitted by its ticket
// alone.

import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { ExecutionQuery } from "@skerry/contract/host-api/vm";
import {
  ArrivalOrder,
  DepartureOrder,
  LayerParams,
  MOVE_PROTOCOL,
  MoveQuery,
  moveStreams,
  ResumeOrder,
  TICKET_HEADER,
  type MoveStream,
} from "@skerry/contract/host-api/move-calls";
import { SkerryError } from "@skerry/contract/errors";
import type { Host } from "../app/host.ts";
import type { HostMoves } from "../move/moves.ts";
import { callerOf } from "./callers.ts";
import { asSkerryError, VmParams, type HostServer } from "./conventions.ts";
import type { Upgrade } from "./upgrades.ts";

export function registerMoves(server: HostServer, { moves }: Host): void {
  const ofExecution = { schema: { params: VmParams, querystring: ExecutionQuery } };
  server.get("/vms/:id/manifest", ofExecution, (request) =>
    moves.manifest(request.params.id, request.query.execution_id),
  );

  server.put("/vms/:id/arrival", { schema: { params: VmParams, body: ArrivalOrder } }, (request) =>
    moves.receive(request.params.id, request.body),
  );

  server.get("/vms/:id/arrival", ofExecution, async (request, reply) => {
    await moves.whole(request.params.id, request.query.execution_id);
    return reply.status(204).send();
  });

  server.post("/vms/:id/arrival/resume", { schema: { params: VmParams, body: ResumeOrder } }, (request) =>
    moves.resume(request.params.id, request.body),
  );

  server.put("/vms/:id/departure", { schema: { params: VmParams, body: DepartureOrder } }, (request) =>
    moves.depart(request.params.id, request.body),
  );

  server.delete(
    "/vms/:id/departure",
    { schema: { params: VmParams, querystring: MoveQuery } },
    async (request, reply) => {
      await moves.stay(request.params.id, request.query.move_id);
      return reply.status(204).send();
    },
  );

  server.put(
    "/vms/:id/arrival/layers/:digest",
    { config: { hostsMayCall: true }, schema: { params: LayerParams } },
    async (request, reply) => {
      const { id, digest } = request.params;
      const arrival = moves.arrival(id);
      arrival.admit(`layer ${digest}`, ticketOf(request.raw));
      await arrival.receiveLayer(digest, request.raw);
      return reply.status(204).send();
    },
  );
}

const STREAM_PATH = new RegExp(`^/vms/([a-z]{3}_[a-z0-9]{1,40})/arrival/(${moveStreams.join("|")})$`);

/** An upgrade request passes no route. It is accepted when our QEMU listens; the source's QEMU waits until
 *  then. */
export async function upgradeMove(moves: HostMoves, { request, socket, head }: Upgrade): Promise<void> {
  socket.on("error", () => undefined); // "close" follows
  try {
    const [, id, stream] = STREAM_PATH.exec(request.url ?? "") ?? [];
    if (id === undefined || request.method !== "GET")
      throw new SkerryError("not_found", "There is no such stream.");
    if (callerOf(request) === undefined)
      throw new SkerryError("forbidden", "The caller has no certificate of this cluster.");
    const arrival = moves.arrival(id);
    arrival.admit(stream ?? "", ticketOf(request));
    await arrival.ready;
    if (head.length > 0) socket.unshift(head);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${MOVE_PROTOCOL}\r\n\r\n`,
    );
    arrival.accept(stream as MoveStream, socket);
  } catch (error) {
    refuse(socket, asSkerryError(error as Error));
  }
}

function refuse(socket: Duplex, error: SkerryError): void {
  const body = JSON.stringify(error.toBody());
  const head = `HTTP/1.1 ${error.status} Refused\r\ncontent-type: application/json\r\nconnection: close`;
  socket.end(`${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

/** What the source shows. */
export function ticketOf({ headers }: IncomingMessage): string | undefined {
  const ticket = headers[TICKET_HEADER];
  return typeof ticket === "string" ? ticket : undefined;
}
