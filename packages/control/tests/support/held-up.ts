// Rows of templates, machines and sandboxes that are held up.

import { sql } from "kysely";
import type { TemplateFailure } from "@skerry/contract/templates/template";
import type { World } from "./world.ts";

/** Until its next heartbeat the host has told that it could not make the image of its template. */
export async function failImage({ db, host }: World, failure: TemplateFailure): Promise<void> {
  const told = JSON.stringify([{ ...host.template, status: "failed", failure }]);
  await sql`update hosts set templates = ${told}::jsonb`.execute(db);
}

/** It has ended, and its next start was refused for want of room. */
export async function refuseStart({ db }: World, machineId: string, text: string): Promise<void> {
  const wait = { kind: "place", id: null, name: null, text, since: new Date().toISOString() };
  await sql`update machines set status = 'failed', reason = 'it exited with 3' where id = ${machineId}`.execute(
    db,
  );
  await sql`
    insert into restarts (machine_id, due_at, queued_at, waits_for)
    values (${machineId}, now() + interval '1 hour', now(), ${JSON.stringify(wait)}::jsonb)`.execute(db);
}

export async function cutOff({ db }: World, sandboxId: string): Promise<void> {
  await sql`update sandboxes set status = 'unreachable' where id = ${sandboxId}`.execute(db);
}
