// All that a room has for the rest of control. Its `room.ts` declares it, and `app/rooms.ts` lists the rooms:
// routes, the document of the API, the schedule, sweeps and deletions follow from that list.

import type { Routes } from "./api/routes.ts";
import type { WithServices } from "./background/background-service.ts";
import type { Room } from "./context.ts";

export interface Manifest extends Room, WithServices {
  /** Routes, in the order of the document. */
  readonly routes?: readonly Routes[];
}
