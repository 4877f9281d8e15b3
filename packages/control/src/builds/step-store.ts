// What the cache knows of the steps of builds.

import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import type { ImageConfig } from "@skerry/build-plan/plan/image-config";
import type { DiskImage } from "@skerry/contract/host-api/templates";
import { newId } from "@skerry/contract/ids";
import { buildById, type BuildRow, type StepRow } from "./build-store.ts";

export async function noteStepKeys(
  db: Queries,
  buildId: string,
  keys: readonly (string | null)[],
): Promise<void> {
  await sql`
    update build_steps set key = found.key
    from unnest(${keys}::text[]) with ordinality as found (key, place)
    where build_id = ${buildId} and index = place - 1`.execute(db);
}

export async function noteStepBytes(
  db: Queries,
  { build_id, index }: Pick<StepRow, "build_id" | "index">,
  bytes: number,
): Promise<void> {
  await sql`update build_steps set bytes = ${bytes} where build_id = ${build_id} and index = ${index}`.execute(
    db,
  );
}

/** What the last step has left. */
export async function noteSealed(db: Queries, buildId: string, bytes: number): Promise<void> {
  await sql`
    update build_steps set bytes = ${bytes}
    where build_id = ${buildId} and index = (select max(index) from build_steps where build_id = ${buildId})`.execute(
    db,
  );
}

/** None of its steps is carried out. */
export async function skipAllSteps(db: Queries, buildId: string): Promise<void> {
  await sql`
    update build_steps set status = 'done', cache_hit = true, started_at = now(), finished_at = now()
    where build_id = ${buildId} and status = 'waiting'`.execute(db);
}

interface PulledDisk {
  readonly image: DiskImage;
  /** Id of the cache entry that keeps it. */
  readonly cacheId: string;
  readonly config: ImageConfig;
}

/** Its image was pulled: it waits for another microVM, which stands on that. False where another writer was
 *  first. */
export async function beginOnPulled(
  db: Queries,
  { id, version, target }: Pick<BuildRow, "id" | "version" | "target">,
  { image, cacheId, config }: PulledDisk,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update builds set
      version = version + 1, execution_id = ${newId("incarnation")}, attempts = 0, retry_at = now(), started_at = now(),
      origin = target, target = ${JSON.stringify({ ...target, on: { kind: "image", image } })}::jsonb,
      cache_id = ${cacheId}, image_config = ${JSON.stringify(config)}::jsonb
    where id = ${id} and version = ${version} and status = 'queued'`.execute(db);
  return numAffectedRows === 1n;
}

/** The disk that its first steps came from is gone: they are carried out, and so is a pull in a microVM of
 *  its own. Undefined where another writer was first. */
export async function beginWithoutCache(
  db: Queries,
  { id, version }: Pick<BuildRow, "id" | "version">,
): Promise<BuildRow | undefined> {
  const { numAffectedRows } = await sql`
    with begun as (
      update builds set target = origin, origin = null, cache_id = null, image_config = null, version = version + 1
      where id = ${id} and version = ${version} and origin is not null returning id
    )
    update build_steps set
      status = 'waiting', cache_hit = false, bytes = null, position = 0, exit_code = null, started_at = null, finished_at = null
    where build_id in (select id from begun) and (cache_hit or kind = 'image')`.execute(db);
  return numAffectedRows === 0n ? undefined : buildById(db, id);
}
