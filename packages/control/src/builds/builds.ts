import type { Build, BuildList, BuildListQuery } from "@skerry/contract/builds/build";
import { isBuildOver } from "@skerry/contract/builds/build-status";
import type { WaitsFor } from "@skerry/contract/waits-for";
import { SkerryError } from "@skerry/contract/errors";
import { isId } from "@skerry/contract/ids";
import type { Versioned } from "../api/versioned.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { waitsForOf } from "../waits/stored-wait.ts";
import { readPage } from "../values/page.ts";
import { buildsOfIds, findBuild, listBuilds, stepsOf, type BuildRow, type StepRow } from "./build-store.ts";

export async function listBuildsOf(
  { db }: Context,
  { orgId }: Caller,
  { limit, cursor, ...filter }: BuildListQuery,
): Promise<BuildList> {
  const page = { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) };
  const { items, next_cursor } = await readPage("build", page, (before, most) =>
    listBuilds(db, { orgId, ...filter }, { before, limit: most }),
  );
  const steps = await stepsOf(
    db,
    items.map(({ id }) => id),
  );
  return { items: items.map((row) => buildOf(row, steps)), next_cursor };
}

/** Throws `build_not_found`, also where it is another organization's. */
export async function getBuild(
  { db }: Context,
  { orgId }: Caller,
  id: string,
): Promise<{ readonly row: BuildRow; readonly build: Build }> {
  const row = isId("build", id) ? await findBuild(db, orgId, id) : undefined;
  if (row === undefined)
    throw new SkerryError("build_not_found", "There is no such build.", {
      remediation: "`GET /v1/builds` lists those of the organization.",
    });
  return { row, build: buildOf(row, await stepsOf(db, [id])) };
}

/** Those of these that there are. */
export async function findBuilds(
  { db }: Context,
  orgId: string,
  ids: readonly string[],
): Promise<Versioned<Build>[]> {
  const [rows, steps] = await Promise.all([buildsOfIds(db, orgId, ids), stepsOf(db, ids)]);
  return rows.map((row) => ({ id: row.id, version: row.version, shownTo: () => buildOf(row, steps) }));
}

/** `steps`: of this build, and maybe of others. */
export function buildOf(row: BuildRow, steps: readonly StepRow[]): Build {
  const { push } = row.request;
  return {
    id: row.id,
    name: row.name,
    tag: row.tag,
    status: row.status,
    waits_for_context: row.context === "awaited" && row.status === "queued",
    waits_for: waitsForOfBuild(row),
    steps: steps
      .filter(({ build_id }) => build_id === row.id)
      .map(({ kind, name, status, started_at, finished_at, exit_code, cache_hit, bytes }) => ({
        ...{ kind, name, status, exit_code, cache_hit, bytes },
        started_at: started_at?.toISOString() ?? null,
        finished_at: finished_at?.toISOString() ?? null,
      })),
    commit: row.commit,
    error: row.error,
    source: push === undefined ? row.source : null,
    pushed: push === undefined ? null : { ...push, digest: row.source?.digest ?? null },
    template_id: row.status === "ready" && push === undefined ? row.template_id : null,
    size: row.size,
    host_id: row.host_id,
    ...timesOf(row),
  };
}

function timesOf(row: BuildRow): Pick<Build, "created_at" | "started_at" | "finished_at" | "ends_by"> {
  return {
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    finished_at: row.finished_at?.toISOString() ?? null,
    ends_by: row.pending_timeout_ms === null ? row.ends_by.toISOString() : null,
  };
}

function waitsForOfBuild(row: BuildRow): WaitsFor | null {
  if (isBuildOver(row.status)) return null;
  if (row.waits_for !== null) return waitsForOf(row.waits_for);
  if (row.status !== "queued") return null;
  const since = (row.started_at ?? row.created_at).toISOString();
  const text = "which starts its microVM";
  return waitsForOf({ kind: "host", id: row.host_id, name: null, text, since });
}
