import { sweepRateBuckets } from "./rate-bucket-store.ts";
import type { Room } from "../context.ts";

export const rateLimitsRoom: Room = { sweeps: { sweepRateBuckets } };
