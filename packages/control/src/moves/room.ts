import { sweepMoves } from "./move-store.ts";
import type { Room } from "../room.ts";

export const movesRoom: Room = { sweeps: { sweepMoves } };
