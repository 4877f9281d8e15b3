import { sweepUsage } from "./usage.ts";
import type { Room } from "../room.ts";

export const usageRoom: Room = { sweeps: { sweepUsage } };
