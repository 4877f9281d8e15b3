// What E2B's clients have asked to be built, from the answer that names the build until its steps have come; and the archives that they send before.

import { sql, type Selectable } from "kysely";
import { SkerryError } from "@skerry/contract/errors";
import type { Database, Queries, Tables } from "../db/database.ts";
import { lockOrganization } from "../limits/organization-limits.ts";
import { sweepAskedBuilds } from "./sweep-asked-builds.ts";
import type { KeptTemplate } from "./template-steps.ts";

export type AskedBuild = Selectable<Tables["e2b_builds"]>;

/** Of an organization, those whose steps have not come. A row has at most 4 kB, and clients that break off leave theirs for an hour. */
export const OPEN_MAX = 100;

/** Undefined: it is written. Otherwise how many of the organization's wait for their steps: as many as may. */
export async function insertAskedBuild(
  db: Database,
  {
    tags,
    ...build
  }: { id: string; org_id: string; name: string; tags: readonly string[]; size: string | null },
): Promise<number | undefined> {
  return db.transaction().execute(async (transaction) => {
    await lockOrganization(transaction, build.org_id);
    await sweepAskedBuilds(transaction, build.org_id, SWEPT_MAX);
    const { rows } = await sql<{ open: number }>`
      select count(*)::integer as open from e2b_builds
      where org_id = ${build.org_id} and body is null and fault is null`.execute(transaction);
    const open = rows[0]?.open ?? 0;
    if (open >= OPEN_MAX) return open;
    await transaction
      .insertInto("e2b_builds")
      .values({ ...build, tags: JSON.stringify(tags) })
      .execute();
    return undefined;
  });
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

/** By their ids, of those of these that asked for one. */
export async function sizesOfAskedBuilds(
  db: Queries,
  orgId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ id: string; size: string }>`
    select id, size from e2b_builds where org_id = ${orgId} and id = any(${ids}::text[]) and size is not null`.execute(
    db,
  );
  return new Map(rows.map(({ id, size }) => [id, size]));
}

/** Rows that one creation forgets; the service `sweeper` does the rest. */
const SWEPT_MAX = 1_000;

/** False where its steps have come before. */
export async function noteSteps(db: Queries, id: string, body: KeptTemplate): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("e2b_builds")
    .set({ body: JSON.stringify(body) })
    .where("id", "=", id)
    .where("body", "is", null)
    .where("fault", "is", null)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** As if they had not come. */
export async function forgetSteps(db: Queries, id: string): Promise<void> {
  await db.updateTable("e2b_builds").set({ body: null }).where("id", "=", id).execute();
}

export interface Fault {
  readonly message: string;
  /** From 1; 0 is what the template stands on, null the whole of it. */
  readonly instruction: number | null;
}

/** It does not go on, and why. */
export async function noteFault(db: Queries, id: string, fault: Fault): Promise<void> {
  await db
    .updateTable("e2b_builds")
    .set({ fault: JSON.stringify(fault) })
    .where("id", "=", id)
    .execute();
}

/** It is not begun, and why. Its steps are not kept: nothing is made of them. */
export async function refuseSteps(db: Queries, id: string, fault: Fault): Promise<void> {
  await db
    .updateTable("e2b_builds")
    .set({ fault: JSON.stringify(fault), body: null })
    .where("id", "=", id)
    .execute();
}

interface Archive {
  readonly orgId: string;
  readonly hash: string;
}

/** Whether it is there; then it stays for another hour. */
export async function keepArchive(db: Queries, { orgId, hash }: Archive): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update e2b_archives set created_at = now() where org_id = ${orgId} and hash = ${hash}`.execute(db);
  return numAffectedRows === 1n;
}

/** Any number that no other user of the database's advisory locks takes beside a second one. */
const ARCHIVES_LOCK = 1_162_154_562;

/** What an organization holds changes one at a time. */
function changeArchives<Result>(
  db: Database,
  orgId: string,
  change: (transaction: Queries) => Promise<Result>,
): Promise<Result> {
  return db.transaction().execute(async (transaction) => {
    await sql`select pg_advisory_xact_lock(${ARCHIVES_LOCK}::integer, hashtext(${orgId}))`.execute(
      transaction,
    );
    return change(transaction);
  });
}

interface Chunk {
  readonly orgId: string;
  readonly upload: string;
  readonly index: number;
  readonly content: Buffer;
}

/** Of an organization: small archives are not bounded by their bytes. */
const CHUNKS_MAX = 10_000;

/** False where the organization would hold more than `maxBytes` with it, or too many. */
export async function addChunk(
  db: Database,
  { orgId, upload, index, content }: Chunk,
  maxBytes: number,
): Promise<boolean> {
  return changeArchives(db, orgId, async (transaction) => {
    const { numAffectedRows } = await sql`
      insert into e2b_archive_chunks (upload, org_id, index, content)
      select ${upload}, ${orgId}, ${index}::integer, ${content}::bytea
      where (select coalesce(sum(length(content)), 0) from e2b_archive_chunks where org_id = ${orgId})
        + ${content.length}::integer <= ${maxBytes}::bigint
        and (select count(*) from e2b_archive_chunks where org_id = ${orgId}) < ${CHUNKS_MAX}`.execute(
      transaction,
    );
    return numAffectedRows === 1n;
  });
}

/** All of it has come. It takes the place of an earlier one, which is forgotten. */
export async function finishArchive(
  db: Database,
  { orgId, hash, upload }: Archive & { upload: string },
): Promise<void> {
  await changeArchives(db, orgId, async (transaction) => {
    await sql`
      delete from e2b_archive_chunks where upload in (
        select upload from e2b_archives where org_id = ${orgId} and hash = ${hash})`.execute(transaction);
    await sql`
      insert into e2b_archives (org_id, hash, upload) values (${orgId}, ${hash}, ${upload})
      on conflict (org_id, hash) do update set upload = excluded.upload, created_at = now()`.execute(
      transaction,
    );
  });
}

export async function dropUpload(db: Queries, upload: string): Promise<void> {
  await db.deleteFrom("e2b_archive_chunks").where("upload", "=", upload).execute();
}

/** Nothing where it is not there. Throws `context_missing` where another one takes its place meanwhile: the two may be cut differently. */
export async function* readArchive(db: Database, { orgId, hash }: Archive): AsyncGenerator<Buffer> {
  const { rows: found } = await sql<{ upload: string; chunks: number }>`
    select upload, (select count(*) from e2b_archive_chunks c where c.upload = a.upload)::integer as chunks
    from e2b_archives a where org_id = ${orgId} and hash = ${hash}`.execute(db);
  const { upload = "", chunks = 0 } = found[0] ?? {};
  for (let index = 0; index < chunks; index++) {
    const { rows } = await sql<{ content: Buffer }>`
      select content from e2b_archive_chunks where upload = ${upload} and index = ${index}`.execute(db);
    if (rows[0] === undefined)
      throw new SkerryError(
        "context_missing",
        "The files of a step were sent again while they were read: build again.",
      );
    yield rows[0].content;
  }
}
