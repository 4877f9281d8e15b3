// One build from its row to its end. Every part can be taken again, by the replica that comes after one that died: the host knows what it has done by
// the build's id and its incarnation, commands by the ids of their executions. However it ends, its microVM is destroyed before the row is left alone.

import { SkerryError, type ErrorCode } from "@skerry/contract/errors";
import { isBuildOver } from "@skerry/contract/builds/build-status";
import { recordOwnActs } from "../audit/audit-log.ts";
import type { Context } from "../context.ts";
import { isDatabaseOutage } from "../db/database.ts";
import { LeaseLostError } from "../db/fence.ts";
import { hostAddress } from "../hosts/host-rows.ts";
import { readSize } from "../values/sizes.ts";
import { publishTemplate } from "../templates/own-templates.ts";
import { waitsForOf } from "../waits/stored-wait.ts";
import { waitForContext } from "./build-queue-store.ts";
import {
  beginTimeout,
  buildById,
  proceedBuild,
  releaseBuildVm,
  stepsOf,
  type BuildRow,
  type StepRow,
} from "./build-store.ts";
import { answerFromVersion } from "./answered-build.ts";
import { configOfBuild } from "./build-config.ts";
import { freezeFor, sizesOf, tellOfFreeze } from "./freeze-for-size.ts";
import { afterClone } from "./detect-source.ts";
import { contextMissing } from "./build-context.ts";
import { dropCached, dropKeptOf } from "./cache-store.ts";
import { wholeKey } from "./cached-prefix.ts";
import { carryOut, type Running } from "./carry-out.ts";
import { keepStep, ownBytes } from "./keep-step.ts";
import { countBuildEnd } from "./count-build-end.ts";
import { failBuild } from "./fail-build.ts";
import { keySteps } from "./key-steps.ts";
import { carryOutPull, findPullApart, mayLogIn } from "./pull-apart.ts";
import { beginWithoutCache, noteSealed } from "./step-store.ts";
import { startBuildVm } from "./start-build-vm.ts";
import { versionDigest } from "@skerry/build-plan/plan/step-key";

const SERVICE = "builder";
const CONTEXT_WAIT_S = 5;

/** Resolves when it has ended and its microVM is gone, or when it waits. Rejects where it can only be carried on later. */
export async function runBuild(context: Context, build: BuildRow, stop: AbortSignal): Promise<void> {
  let row: BuildRow | undefined = build;
  while (row !== undefined) {
    if (isBuildOver(row.status)) return destroyBuildVm(context, row, stop);
    const next: BuildRow | "waits" | undefined = await advance(context, row, stop);
    if (next === "waits") return;
    // Another writer was first: what it wrote counts.
    row = next ?? (await buildById(context.db, build.id));
  }
}

/**
 * What a build that is over holds on its host is given back: its microVM, and the template that a build which is not `ready` may have left there.
 * Its row names the microVM until both are gone, so that a host that does not answer is asked again. Also succeeds where its host is gone for good.
 */
export async function destroyBuildVm(
  context: Context,
  {
    id,
    host_id,
    execution_id,
    status,
    image,
    template_id,
  }: Pick<BuildRow, "id" | "host_id" | "execution_id" | "status" | "image" | "template_id">,
  stop?: AbortSignal,
): Promise<void> {
  if (execution_id === null) return;
  const address = await hostAddress(context.db, host_id);
  if (address !== undefined) {
    const client = context.hosts.client(address);
    await client.destroyVm({ id, execution_id }, stop);
    // Only what is sealed is put on a host as a template.
    if (status !== "ready" && image !== null) await client.templates.delete(template_id, stop);
  }
  await dropKeptOf(context.db, id);
  await releaseBuildVm(context.db, id, execution_id);
}

async function advance(
  context: Context,
  row: BuildRow,
  stop: AbortSignal,
): Promise<BuildRow | "waits" | undefined> {
  try {
    if (row.left_ms <= 0) throw timedOut(row);
    if (row.execution_id === null) throw new SkerryError("internal", "The build has lost its microVM.");
    const address = await hostAddress(context.db, row.host_id);
    if (address === undefined) throw new SkerryError("host_not_found", "The host of the build was removed.");
    const running = {
      row: { ...row, execution_id: row.execution_id },
      client: context.hosts.client(address),
      stop,
    };
    return await stages[row.status as keyof typeof stages](context, running);
  } catch (error) {
    if (!isFinal(error) || stop.aborted) throw error;
    return failBuild(context, row, error);
  }
}

function timedOut({ pending_timeout_ms: pending, waits_for: wait }: BuildRow): SkerryError {
  if (pending === null)
    return new SkerryError("build_timed_out", "The build took longer than its `timeout`.");
  const why = wait === null ? "" : `: it ${waitsForOf(wait).reason}`;
  return new SkerryError("build_timed_out", `None of the build's steps began within a day${why}.`);
}

const stages = { queued: startVm, building: runSteps, sealing: seal, freezing: freeze } as const;

/** What another attempt would meet again. The rest is ours, or passes. */
function isFinal(error: unknown): error is Error {
  if (error instanceof LeaseLostError || isDatabaseOutage(error)) return false;
  if (!(error instanceof SkerryError)) return true;
  return !passing.has(error.code);
}

const passing: ReadonlySet<ErrorCode> = new Set([
  "host_unavailable",
  "host_draining",
  "template_not_ready",
  "vm_moving",
  "canceled",
  "shutting_down",
  "database_unavailable",
]);

async function startVm(
  context: Context,
  { row, client, stop }: Running,
): Promise<BuildRow | "waits" | undefined> {
  try {
    await startBuildVm(context, { row, client, stop });
  } catch (error) {
    if (!(error instanceof SkerryError) || error.code !== "layer_missing" || row.cache_id === null)
      throw error;
    await dropCached(context.db, [row.cache_id]);
    return beginWithoutCache(context.db, row);
  }
  const pull = await findPullApart(context, row);
  if (pull !== undefined) {
    const begun = (await beginTimeout(context.db, row.id)) ?? row;
    const { left_ms, version } = begun;
    return carryOutPull(context, { row: { ...row, left_ms, version }, client, stop }, pull);
  }
  if (row.context !== "awaited") return proceedBuild(context.db, row, "building");
  if (row.context_left_ms <= 0) throw contextMissing();
  await waitForContext(context.db, row, CONTEXT_WAIT_S);
  return "waits";
}

async function runSteps(context: Context, running: Running): Promise<BuildRow | undefined> {
  const { row, client, stop } = running;
  const steps = await stepsOf(context.db, [row.id]);
  const keys = await keySteps(context.db, { row, steps, client, stop });
  const answered = await answerFromVersion(context, row, keys);
  if (answered !== undefined) return answered;
  let tookMs = 0;
  for (const one of steps) {
    const step = { ...one, key: keys[one.index] ?? null };
    if (step.status === "done") {
      if (await isNewBeginning(context, running, step)) return buildById(context.db, row.id);
      continue;
    }
    const startedMs = performance.now();
    const failed = await carryOut(context, running, { step, mayLogIn: mayLogIn(step, steps) });
    if (failed !== undefined) return failed;
    context.metrics.buildSteps.add(1, "miss");
    // Canceled meanwhile.
    const now = await buildById(context.db, row.id);
    if (now?.status !== "building") return now;
    if (await isNewBeginning(context, running, step)) return buildById(context.db, row.id);
    tookMs += performance.now() - startedMs;
    if (await keepStep(context, { row, step, tookMs, client, stop })) tookMs = 0;
  }
  return endSteps(context, row);
}

/** What was pushed is there, and a push leaves nothing here. */
async function endSteps(context: Context, row: BuildRow): Promise<BuildRow | undefined> {
  const seen = (await buildById(context.db, row.id)) ?? row;
  const status = row.request.push === undefined ? "sealing" : "ready";
  return countBuildEnd(context, await proceedBuild(context.db, seen, status));
}

/** Whether it begins anew, by what the step has cloned. */
async function isNewBeginning(
  context: Context,
  { row, client, stop }: Running,
  { kind, timeout_ms: timeoutMs }: StepRow,
): Promise<boolean> {
  if (kind !== "git" || row.commit !== null) return false;
  const now = await buildById(context.db, row.id);
  if (now?.status !== "building") return true;
  const vm = { id: row.id, execution_id: row.execution_id };
  return afterClone(context, { row: now, client, vm, timeoutMs, stop });
}

async function seal(context: Context, { row, client, stop }: Running): Promise<BuildRow | undefined> {
  const vm = { id: row.id, execution_id: row.execution_id };
  const { image } = await client.templates.seal(vm, row.id, stop);
  await noteSealed(context.db, row.id, ownBytes(image));
  const next = await proceedBuild(context.db, row, "freezing", { image });
  if (next !== undefined) await tellOfFreeze(context, { row, client, stop });
  return next;
}

async function freeze(context: Context, { row, client, stop }: Running): Promise<BuildRow | undefined> {
  const { image } = row;
  if (image === null) throw new Error("a sealed build has no image");
  const { config, command } = await configOfBuild(row, client, stop);
  const { missing } = await client.templates.put(row.template_id, { image, ...config }, stop);
  if (missing.length > 0) throw new SkerryError("layer_missing", "The host has lost a layer of the build.");
  const sizes = sizesOf(row.request);
  for (const size of sizes) await freezeFor(context, { row, client, stop }, size);
  const keys = (await stepsOf(context.db, [row.id])).map((step) => step.key);
  const built = await context.db.transaction().execute(async (transaction) => {
    const ready = await proceedBuild(transaction, row, "ready");
    // Canceled meanwhile: the template is deleted with the microVM.
    if (ready === undefined) return undefined;
    await publishTemplate(
      transaction,
      {
        ...{ id: row.template_id, org_id: row.org_id, name: row.name, build_id: row.id, image, config },
        owner_id: row.owner_id,
        command,
        key: wholeKey(keys, { config: row.config, sizes: row.request.sizes }),
        digest: versionDigest({ layers: image.layers.map(({ digest }) => digest), config }),
        source: row.source,
        disk_gib: image.disk_gib,
        bytes: image.layers.reduce((sum, layer) => sum + layer.bytes, 0),
      },
      {
        tags: [row.tag, ...(row.request.more_tags ?? [])],
        hostId: row.host_id,
        frozen: sizes.map(readSize),
      },
    );
    await recordOwnActs(transaction, { service: SERVICE, action: "template.create", resource: "template" }, [
      { id: row.template_id, org_id: row.org_id },
    ]);
    return ready;
  });
  if (built !== undefined) context.wake("layer-storer");
  return countBuildEnd(context, built);
}
