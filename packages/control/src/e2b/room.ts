import type { Room } from "../context.ts";
import { sweepAccesses } from "./sweep-accesses.ts";
import { sweepArchives } from "./sweep-archives.ts";
import { sweepAskedBuilds } from "./sweep-asked-builds.ts";

const TABLES = ["e2b_builds", "e2b_archives", "e2b_archive_chunks", "e2b_accesses"] as const;

export const e2bRoom: Room = {
  sweeps: { sweepArchives, sweepAccesses },
  organizationSweeps: { sweepAskedBuilds },
  async onOrganizationDeleted(transaction, orgId) {
    for (const table of TABLES) await transaction.deleteFrom(table).where("org_id", "=", orgId).execute();
  },
};
