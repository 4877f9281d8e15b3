import { sweepRateBuckets } from "./rate-bucket-store.ts";
import type { Room } from "../room.ts";

export const rateLimitsRoom: Room = { sweeps: { sweepRateBuckets } };
