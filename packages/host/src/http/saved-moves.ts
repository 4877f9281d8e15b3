// The routes by which saved guests go from host to host, for control and for the source host. Data from the source is admitted by its ticket
// alone.

import { MoveQuery } from "@skerry/contract/host-api/move-calls";
import {
  SavedArrivalOrder,
  SavedDepartureOrder,
  SavedFileParams,
  SavedFiles,
  SavedLayerParams,
  SavedParams,
} from "@skerry/contract/host-api/saved-moves";
import type { Host } from "../app/host.ts";
import type { HostServer } from "./conventions.ts";
import { ticketOf } from "./moves.ts";

export function registerSavedMoves(server: HostServer, { savedMoves }: Host): void {
  const ofMove = { schema: { params: SavedParams, querystring: MoveQuery } };
  server.get("/saved/:id/manifest", { schema: { params: SavedParams } }, (request) =>
    savedMoves.manifest(request.params.id),
  );

  server.put("/saved/:id/arrival", { schema: { params: SavedParams, body: SavedArrivalOrder } }, (request) =>
    savedMoves.receive(request.params.id, request.body),
  );

  server.get("/saved/:id/arrival", ofMove, async (request, reply) => {
    await savedMoves.whole(request.params.id, request.query.move_id);
    return reply.status(204).send();
  });

  server.delete("/saved/:id/arrival", ofMove, async (request, reply) => {
    await savedMoves.forget(request.params.id, request.query.move_id);
    return reply.status(204).send();
  });

  server.put(
    "/saved/:id/departure",
    { schema: { params: SavedParams, body: SavedDepartureOrder } },
    (request) => savedMoves.depart(request.params.id, request.body),
  );
  registerFromSource(server, savedMoves);
}

function registerFromSource(server: HostServer, savedMoves: Host["savedMoves"]): void {
  const config = { hostsMayCall: true };
  server.put(
    "/saved/:id/arrival/layers/:digest",
    { config, schema: { params: SavedLayerParams } },
    async (request, reply) => {
      const { id, digest } = request.params;
      const arrival = savedMoves.arrival(id);
      arrival.admit(`layer ${digest}`, ticketOf(request.raw));
      await arrival.receiveLayer(digest, request.raw);
      return reply.status(204).send();
    },
  );

  server.put("/saved/:id/arrival/files/:name", { config, schema: { params: SavedFileParams } }, (request) => {
    const { id, name } = request.params;
    const arrival = savedMoves.arrival(id);
    arrival.admit(`file ${name}`, ticketOf(request.raw));
    return arrival.receiveFile(name, request.raw);
  });

  server.put(
    "/saved/:id/arrival/seal",
    { config, schema: { params: SavedParams, body: SavedFiles } },
    async (request, reply) => {
      const arrival = savedMoves.arrival(request.params.id);
      arrival.admit("seal", ticketOf(request.raw));
      await arrival.seal(request.body);
      return reply.status(204).send();
    },
  );
}
