import { sweepIdempotencyKeys } from "./idempotency-key-store.ts";
import { keptAnswers } from "./kept-answers.ts";
import type { Room } from "../context.ts";

export const idempotencyRoom: Room = { sweeps: { sweepIdempotencyKeys }, kept: { keptAnswers } };
