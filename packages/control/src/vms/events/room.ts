import { sweepVmEvents } from "./event-store.ts";
import type { Room } from "../../context.ts";

export const vmEventsRoom: Room = { sweeps: { sweepVmEvents } };
