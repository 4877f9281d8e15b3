// The pull of a private image, in a microVM of its own. A `run` step is root in its microVM with all
// capabilities, and would find in the memory of a kernel that has pulled what it logged in with. So the disk
// is kept when the image is on it, as the cache keeps it, and the build goes on in another microVM that
// stands on it. That one also gets the context.

import { newId } from "@skerry/contract/ids";
import type { Context } from "../context.ts";
import { readImageConfig } from "./build-config.ts";
import { buildById, stepsOf, type BuildRow, type StepRow } from "./build-store.ts";
import { beginCached, finishCached, keyOfBuild } from "./cache-store.ts";
import { carryOut, type Running } from "./carry-out.ts";
import { ownBytes } from "./keep-step.ts";
import { hasLogins } from "./registry-access.ts";
import { beginOnPulled, noteStepBytes } from "./step-store.ts";

/** The step that pulls, where the microVM that a build waits for is for that alone. */
export async function findPullApart(context: Context, row: BuildRow): Promise<StepRow | undefined> {
  const { id, status, request, target } = row;
  // A build that stands on a disk has its image already.
  if (status !== "queued" || request.image === undefined || target.on.kind !== "empty") return undefined;
  // It is in the microVM already: credentials that were set since then are not used.
  if (row.context === "there") return undefined;
  const steps = await stepsOf(context.db, [id]);
  const pull = steps.find(({ kind }) => kind === "image");
  if (pull === undefined || !runsCommands(steps)) return undefined;
  const isPrivate = pull.status !== "waiting" || (await hasLogins(context, pull));
  return isPrivate ? pull : undefined;
}

/** Whether a step gets credentials in the microVM in which the others are carried out, too. */
export function mayLogIn({ kind }: Pick<StepRow, "kind">, steps: readonly StepRow[]): boolean {
  return kind !== "image" || !runsCommands(steps);
}

function runsCommands(steps: readonly Pick<StepRow, "kind">[]): boolean {
  return steps.some(({ kind }) => kind === "run");
}

/** The build as it is then: it waits for its other microVM, or has failed. */
export async function carryOutPull(
  context: Context,
  running: Running,
  step: StepRow,
): Promise<BuildRow | undefined> {
  const { row, client, stop } = running;
  const { db } = context;
  const vm = { id: row.id, execution_id: row.execution_id };
  if (step.status !== "done") {
    const failed = await carryOut(context, running, { step, mayLogIn: true });
    if (failed !== undefined) return failed;
    context.metrics.buildSteps.add(1, "miss");
  }
  const config = await readImageConfig(client, vm, stop);
  const now = await buildById(db, row.id);
  if (now?.status !== "queued") return now;
  const id = newId("template");
  const { org_id, host_id } = row;
  await beginCached(db, { id, org_id, host_id, key: keyOfBuild(row.id), kind: step.kind, name: step.name });
  const { image } = await client.templates.seal(vm, step.execution, stop);
  await client.templates.put(id, { image, env: {}, user: null, workdir: null }, stop);
  const bytes = ownBytes(image);
  const begun = await db.transaction().execute(async (transaction) => {
    if (!(await beginOnPulled(transaction, now, { image, cacheId: id, config }))) return false;
    await finishCached(transaction, { id, image, bytes });
    await noteStepBytes(transaction, step, bytes);
    return true;
  });
  // Where this is not done, `startBuildVm` does it.
  if (begun) await client.destroyVm(vm, stop);
  return buildById(db, row.id);
}
