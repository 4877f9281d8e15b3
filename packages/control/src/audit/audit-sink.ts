import type { Logger } from "pino";
import type { Database } from "../db/database.ts";
import type { Metrics } from "../metrics/metrics.ts";

/** The database for audit events, with the log and the metric for events that it could not store. */
export interface AuditSink {
  readonly db: Database;
  readonly log: Logger;
  readonly metrics: Metrics;
}
