import { sweepLoginCodes } from "./login-code-store.ts";
import type { Room } from "../room.ts";

export const loginsRoom: Room = { sweeps: { sweepLoginCodes } };
