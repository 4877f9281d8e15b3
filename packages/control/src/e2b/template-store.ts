// What E2B's clients have asked to be built, from the answer that names the build until its steps have come; and the archives that they send before.

import { sql, type Selectable } from "kysely";
import type { Database, Queries, Tables } from "../db/database.ts";
import type { TemplateBody } from "./template-steps.ts";

export type AskedBuild = Selectable<Tables["e2b_builds"]>;

/** What is not used by then is forgotten. */
const KEPT = sql`interval '1 hour'`;
const BUILDS_KEPT = sql`interval '30 days'`;

export async function insertAskedBuild(
  db: Queries,
  {
    tags,
    ...build
  }: { id: string; org_id: string; name: string; tags: readonly string[]; size: string | null },
): Promise<void> {
  await sql`
    delete from e2b_builds b where created_at < now() - ${BUILDS_KEPT}
      and not exists (select from templates t where t.build_id = b.id and t.status = 'ready')`.execute(db);
  await db
    .insertInto("e2b_builds")
    .values({ ...build, tags: JSON.stringify(tags) })
    .execute();
}

export async function findAskedBuild(
  db: Queries,
  orgId: string,
  id: string,
): Promise<AskedBuild | undefined> {
  return db
    .selectFrom("e2b_builds")
    .selectAll()
    .where("id", "=", id)
    .where("org_id", "=", orgId)
    .executeTakeFirst();
}

/** False where its steps have come before. */
export async function noteSteps(db: Queries, id: string, body: TemplateBody): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("e2b_builds")
    .set({ body: JSON.stringify(body) })
    .where("id", "=", id)
    .where("body", "is", null)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** It is not begun, and why. */
export async function noteFault(
  db: Queries,
  id: string,
  fault: { readonly message: string; readonly instruction: number | null },
): Promise<void> {
  await db
    .updateTable("e2b_builds")
    .set({ fault: JSON.stringify(fault) })
    .where("id", "=", id)
    .execute();
}

interface Archive {
  readonly orgId: string;
  readonly hash: string;
}

export async function hasArchive(db: Queries, { orgId, hash }: Archive): Promise<boolean> {
  const { rows } = await sql`select 1 from e2b_archives where org_id = ${orgId} and hash = ${hash}`.execute(
    db,
  );
  return rows.length > 0;
}

/** Bytes of the organization's. */
export async function archivedBytes(db: Queries, orgId: string): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`
    select coalesce(sum(length(content)), 0)::float8 as bytes from e2b_archive_chunks where org_id = ${orgId}`.execute(
    db,
  );
  return rows[0]?.bytes ?? 0;
}

export async function forgetOldArchives(db: Queries): Promise<void> {
  await sql`delete from e2b_archives where created_at < now() - ${KEPT}`.execute(db);
  await sql`
    delete from e2b_archive_chunks c where created_at < now() - ${KEPT}
      and not exists (select from e2b_archives a where a.upload = c.upload)`.execute(db);
}

export async function addChunk(
  db: Queries,
  { orgId, upload, index, content }: { orgId: string; upload: string; index: number; content: Buffer },
): Promise<void> {
  await db.insertInto("e2b_archive_chunks").values({ upload, org_id: orgId, index, content }).execute();
}

/** All of it has come. It takes the place of an earlier one. */
export async function finishArchive(
  db: Database,
  { orgId, hash, upload }: Archive & { upload: string },
): Promise<void> {
  await sql`
    insert into e2b_archives (org_id, hash, upload) values (${orgId}, ${hash}, ${upload})
    on conflict (org_id, hash) do update set upload = excluded.upload, created_at = now()`.execute(db);
}

export async function dropUpload(db: Queries, upload: string): Promise<void> {
  await db.deleteFrom("e2b_archive_chunks").where("upload", "=", upload).execute();
}

export async function* readArchive(db: Database, { orgId, hash }: Archive): AsyncGenerator<Buffer> {
  for (let index = 0; ; index++) {
    const { rows } = await sql<{ content: Buffer }>`
      select content from e2b_archive_chunks c join e2b_archives a on a.upload = c.upload
      where a.org_id = ${orgId} and a.hash = ${hash} and c.index = ${index}`.execute(db);
    if (rows[0] === undefined) return;
    yield rows[0].content;
  }
}
