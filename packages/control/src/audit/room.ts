import { forgetOldEvents, OLD_EVENTS_MAX } from "./audit-store.ts";
import type { WithServices } from "../background/background-service.ts";
import type { Room } from "../context.ts";
import { auditSweeper } from "./audit-sweeper.ts";

declare module "../context.ts" {
  interface Services {
    "audit-sweeper": true;
  }
}

export const auditRoom = {
  ownActs: ["organization.calls", "organization.refusals"],
  services: [
    {
      name: "audit-sweeper",
      everyMs: 600_000,
      setting: "SKERRY_SWEEPER_INTERVAL_MS",
      make: (own, everyMs, { auditKeptDays }) => auditSweeper(own, everyMs, auditKeptDays),
    },
  ],
  organizationSweeps: {
    forgetOldEvents: (db, orgId, limit) => forgetOldEvents(db, { orgId, kept: OLD_EVENTS_MAX, limit }),
  },
} satisfies Room & WithServices;
