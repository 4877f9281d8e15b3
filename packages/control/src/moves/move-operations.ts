import { Type } from "typebox";
import { Move, MoveList, MoveListQuery } from "@skerry/contract/moves/move";
import type { Operations } from "../api/operation.ts";

export const moveOperations = {
  listMoves: {
    surface: "v1",
    method: "GET",
    path: "/v1/moves",
    tag: "hosts",
    summary: "List moves",
    description:
      "VMs and snapshots on their way from one host to another, and moves that ended within a day, newest first.",
    query: MoveListQuery,
    answers: { 200: MoveList },
    access: { scope: "hosts:read", role: "viewer", rate: "read" },
    audit: { action: "move.list", resource: "move" },
    errors: [],
  },
  getMove: {
    surface: "v1",
    method: "GET",
    path: "/v1/moves/:id",
    tag: "hosts",
    summary: "Get a move",
    params: Type.Object({ id: Type.String() }),
    answers: { 200: Move },
    access: { scope: "hosts:read", role: "viewer", rate: "read" },
    audit: { action: "move.get", resource: "move" },
    errors: ["move_not_found"],
  },
} as const satisfies Operations;
