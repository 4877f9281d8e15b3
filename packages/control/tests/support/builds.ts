// Builds in a world, carried out by the service as it is.

import { sql } from "kysely";
import type { Build } from "@skerry/contract/builds/build";
import type { Report } from "../../src/background/background-service.ts";
import { builder } from "../../src/builds/builder.ts";
import { eventually, type World } from "./world.ts";

/** One turn of the service. It lasts as long as there is something to do. */
export function activateBuilder(world: World, stop = new AbortController().signal): Promise<Report> {
  return builder(world.context, 1_000).activate(stop);
}

export async function newBuild(world: World, request: Record<string, unknown> = {}): Promise<Build> {
  const body = { name: "web", size: "shared-cpu-1x", steps: [{ run: "make" }], ...request };
  const answer = await world.call<Build>("POST", "/v1/templates", { body });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body;
}

export async function buildNow(world: World, id: string): Promise<Build> {
  return (await world.call<Build>("GET", `/v1/builds/${id}`)).body;
}

/** A template that is ready. */
export async function builtTemplate(world: World, request: Record<string, unknown> = {}): Promise<Build> {
  const { id } = await newBuild(world, request);
  await activateBuilder(world);
  const build = await buildNow(world, id);
  if (build.status !== "ready") throw new Error(JSON.stringify(build));
  return build;
}

export async function untilBuild(world: World, id: string, status: Build["status"]): Promise<Build> {
  let build = await buildNow(world, id);
  await eventually(async () => {
    build = await buildNow(world, id);
    return build.status === status;
  }, `the build is ${status}`);
  return build;
}

/** Has each build that has ended, and each step of it that was begun, have taken so many seconds. */
export async function lastedFor({ db }: World, seconds: number): Promise<void> {
  const began = sql`finished_at - ${seconds} * interval '1 second'`;
  await sql`update builds set started_at = ${began} where finished_at is not null`.execute(db);
  await sql`update build_steps set started_at = ${began} where finished_at is not null`.execute(db);
}

/** Has nothing of builds and VMs left for the next test, and the fake host answer well. */
export async function forgetBuildsAndVms({ db, host }: World): Promise<void> {
  host.failures.clear();
  host.beforeStart = async () => undefined;
  host.beforeDestroy = async () => undefined;
  host.templates.failures.clear();
  host.templates.before = async () => undefined;
  host.templates.kept.clear();
  for (const table of ["sandboxes", "machines", "builds"])
    await sql`delete from ${sql.table(table)}`.execute(db);
  host.vms.clear();
}

/** What the rows of builds and VMs hold of the fake host. */
export async function heldMemoryMib({ db }: World): Promise<number> {
  const { rows } = await sql<{ held: number }>`
    select coalesce(sum(memory_mib), 0)::integer as held from capacity_entries where account like 'hst_%'`.execute(
    db,
  );
  return rows[0]?.held ?? 0;
}
