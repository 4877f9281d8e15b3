import type { Logger } from "pino";
import type { Database } from "../db/database.ts";
import type { Metrics } from "../metrics/metrics.ts";

/** The database that keeps audit events, and the log and the metric that tell of those that it could not store. */
export interface AuditSink {
  readonly db: Database;
  readonly log: Logger;
  readonly metrics: Metrics;
}
