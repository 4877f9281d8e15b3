// Forgets audit events that are older than they are kept. The database itself refuses to delete younger ones.

import type { Context } from "../context.ts";
import { forgetAuditEvents } from "./audit-store.ts";
import type { BackgroundService } from "../background/background-service.ts";

const BATCH = 1_000;

export function auditSweeper(context: Context, everyMs: number, keptDays: number): BackgroundService {
  return {
    name: "audit-sweeper",
    everyMs,
    async activate() {
      const forgotten = await forgetAuditEvents(context.db, keptDays, BATCH);
      return { examined: forgotten, changed: forgotten, failed: 0, more: forgotten === BATCH };
    },
  };
}
