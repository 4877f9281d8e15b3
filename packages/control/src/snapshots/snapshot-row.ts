import type { Selectable } from "kysely";
import type { Tables } from "../db/database.ts";

export type SnapshotRow = Selectable<Tables["snapshots"]> & {
  /** Name of its host where that is not heard of; only where it is read to be shown. */
  readonly lost_host?: string | null;
};
