import { sweepVmEvents } from "./event-store.ts";
import type { Room } from "../../room.ts";

export const vmEventsRoom: Room = { sweeps: { sweepVmEvents } };
