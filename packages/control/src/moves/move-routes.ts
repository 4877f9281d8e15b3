import { routes } from "../api/routes.ts";
import { moveOperations } from "./move-operations.ts";
import { getMove, listMoves } from "./moves.ts";

export const moveRoutes = routes(moveOperations, (context) => ({
  listMoves: (request) => listMoves(context, request.query),
  getMove: (request) => getMove(context, request.params.id),
}));
