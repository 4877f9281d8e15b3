// A change of a row that a request asks for.

import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { refuseTakenName } from "../vms/vm-names.ts";
import { statusesPastSaving, type SandboxRow } from "./sandbox-store.ts";

export type SandboxUpdate = Pick<SandboxRow, "name" | "metadata" | "pause_after_idle_ms" | "auto_resume">;

/** Undefined where the sandbox is past saving, or is not as it was seen. Throws `name_taken`. */
export async function updateSandboxRow(
  db: Queries,
  seen: SandboxRow,
  update: SandboxUpdate,
): Promise<SandboxRow | undefined> {
  const { rows } = await sql<SandboxRow>`
    update sandboxes set (${columns}, unique_name) = (${valuesOf(update)}, ${update.name})
    where id = ${seen.id} and status not in (${sql.join(statusesPastSaving)})
      and (${columns}) is not distinct from (${valuesOf(seen)})
    returning *`
    .execute(db)
    .catch(refuseTakenName({ noun: "sandbox", table: "sandboxes" }, update.name));
  return rows[0];
}

const columns = sql.raw("name, metadata, pause_after_idle_ms, auto_resume");

function valuesOf({ name, metadata, pause_after_idle_ms: idleMs, auto_resume: autoResume }: SandboxUpdate) {
  return sql`${name}::text, ${JSON.stringify(metadata)}::jsonb, ${idleMs}::integer, ${autoResume}::boolean`;
}
