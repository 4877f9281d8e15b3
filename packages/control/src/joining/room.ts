import { sweepJoinTokens } from "./join-store.ts";
import type { Room } from "../room.ts";

export const joiningRoom: Room = { sweeps: { sweepJoinTokens } };
