import { forgetOldEvents, OLD_EVENTS_MAX } from "./audit-store.ts";
import type { Room } from "../room.ts";

export const auditRoom: Room = {
  organizationSweeps: {
    forgetOldEvents: (db, orgId, limit) => forgetOldEvents(db, { orgId, kept: OLD_EVENTS_MAX, limit }),
  },
};
