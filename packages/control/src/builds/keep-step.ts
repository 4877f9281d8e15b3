// After a step that took long, what the disk holds is sealed and kept, so that the next build may begin there.

import { SkerryError } from "@skerry/contract/errors";
import type { DiskImage } from "@skerry/contract/host-api/templates";
import { newId } from "@skerry/contract/ids";
import type { Context } from "../context.ts";
import type { HostClient } from "../host-client/host-client.ts";
import { appendLines } from "./build-log-store.ts";
import { stepsOf, type BuildRow, type StepRow } from "./build-store.ts";
import { beginCached, finishCached, isCached, keepWithinBudgets } from "./cache-store.ts";
import { noteStepBytes } from "./step-store.ts";

/** Steps of a build that it may keep: each is a layer, which costs every read of its disk a look. */
const KEPT_MAX = 4;
/** Of the other kinds the result is next to nothing, or nearly the template itself. */
const KEPT: ReadonlySet<string> = new Set(["run", "copy", "dockerfile"]);

interface Done {
  readonly row: BuildRow & { readonly execution_id: string };
  readonly step: StepRow;
  /** Since what was kept last. */
  readonly tookMs: number;
  readonly client: HostClient;
  readonly stop: AbortSignal;
}

/** Whether it was kept. A build goes on without, where its host refuses. */
export async function keepStep(
  context: Context,
  { row, step, tookMs, client, stop }: Done,
): Promise<boolean> {
  const { db, log } = context;
  const { kind, name, key } = step;
  const isShort = tookMs < context.limits.buildCacheStepMs;
  if (key === null || isShort || context.limits.buildCacheGib === 0 || !KEPT.has(kind)) return false;
  const steps = await stepsOf(db, [row.id]);
  if (keptOf(steps) >= KEPT_MAX || isWholeImage(step, steps)) return false;
  const vm = { id: row.id, execution_id: row.execution_id };
  const id = newId("template");
  await beginCached(db, { id, org_id: row.org_id, host_id: row.host_id, key, kind, name });
  try {
    const { image } = await client.templates.seal(vm, step.execution, stop);
    await client.templates.put(id, { image, env: {}, user: null, workdir: null }, stop);
    const bytes = ownBytes(image);
    await finishCached(db, { id, image, bytes });
    await noteStepBytes(db, step, bytes);
    await makeRoom(context, { ...row, id });
    return true;
  } catch (error) {
    if (!(error instanceof SkerryError) || stop.aborted || error.code === "host_unavailable") throw error;
    log.warn({ err: error, build_id: row.id }, "a step of a build is not cached");
    const texts = [`This step is not cached: ${error.message}`];
    await appendLines(db, { buildId: row.id, step: step.index, texts });
    return false;
  }
}

/** What is new is never what takes an organization or a host beyond its budget: others give way at once, or it does. Throws `no_capacity`. */
async function makeRoom(
  { db, limits, wake }: Context,
  { id, org_id, host_id }: Pick<BuildRow, "id" | "org_id" | "host_id">,
): Promise<void> {
  if ((await keepWithinBudgets(db, limits, { org_id, host_id })) > 0) wake("build-cache-cleanup");
  if (!(await isCached(db, id)))
    throw new SkerryError("no_capacity", "The build cache has no room for it and all that it stands on.");
}

function keptOf(steps: readonly StepRow[]): number {
  return steps.filter(({ cache_hit, bytes }) => !cache_hit && bytes !== null).length;
}

/** Whether it is what a Dockerfile comes to. Its configuration lies beside the disk, in the builder, so the step is carried out. */
function isWholeImage({ kind, index }: StepRow, steps: readonly StepRow[]): boolean {
  return kind === "dockerfile" && !steps.some((step) => step.kind === kind && step.index > index);
}

export function ownBytes({ layers }: DiskImage): number {
  return layers.at(-1)?.bytes ?? 0;
}
