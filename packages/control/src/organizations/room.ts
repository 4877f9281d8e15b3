import { endedTokens } from "./ended-tokens.ts";
import { sweepUsers } from "./sweep-users.ts";
import { sweepSessions } from "./token-store.ts";
import type { Room } from "../room.ts";

export const organizationsRoom: Room = {
  kept: { endedTokens },
  // A user is forgotten with the last of their tokens.
  sweeps: { sweepSessions, sweepUsers },
};
