// POST /v1/templates: the row of a build, the room that its microVM takes, and the steps that it will take. The service `builder` does the rest.

import type { Build, BuildRequest } from "@skerry/contract/builds/build";
import { newId } from "@skerry/contract/ids";
import type { BuildPlan } from "@skerry/contract/builds/plan/build-plan";
import { EMPTY_DISK_GIB } from "@skerry/contract/builds/plan/builder-scripts";
import { BUILDER_DISK_GIB } from "@skerry/contract/templates/template-name";
import { readSize } from "../values/sizes.ts";
import { checkBuildQuota } from "../capacity/build-quota.ts";
import { reserve, type Found } from "../capacity/reservation.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import type { Attempt, Creation } from "../idempotency/create-once.ts";
import { readBuildParams, targetOf, type BuildParams } from "./build-params.ts";
import { insertBuild, insertSteps, stepsOf } from "./build-store.ts";
import { plannedRows } from "./planned-rows.ts";
import { buildOf, getBuild } from "./builds.ts";
import { SkerryError } from "@skerry/contract/errors";

/** `id`: that the build gets, where it was given away before. */
export function buildCreation(
  context: Context,
  caller: Caller,
  request: BuildRequest,
  id?: string,
): Creation<Build> {
  return { create: (attempt) => createBuild(context, { caller, request, id }, attempt) };
}

/** The same once more. What was sent as its context is not kept, so that has to come again. */
export function buildRetry(context: Context, caller: Caller, id: string): Creation<Build> {
  return {
    create: async (attempt) => {
      const { row } = await getBuild(context, caller, id);
      if (row.finished_at === null)
        throw new SkerryError(
          "build_over",
          `The build is ${row.status}, and can be tried again when it has ended.`,
          {
            remediation: "Cancel it first, or wait for its end.",
            context: { status: row.status },
          },
        );
      return createBuild(context, { caller, request: row.request }, attempt);
    },
  };
}

interface NewBuild {
  readonly caller: Caller;
  readonly request: BuildRequest;
  readonly id?: string | undefined;
}

async function createBuild(
  context: Context,
  { caller, request, id = newId("build") }: NewBuild,
  attempt: Attempt,
): Promise<Build> {
  const params = await readBuildParams(context, caller, request);
  const placement = {
    orgId: caller.orgId,
    template: params.placeAt,
    size: params.size,
    quotas: (template: Found["template"]) => ({ disk_gib: diskGibOf(params.plan, template) }),
  };
  const { row } = await reserve(context, placement, async (transaction, found) => {
    await checkBuildQuota(context, transaction, {
      orgId: caller.orgId,
      frozen: (params.request.sizes ?? []).map(readSize),
    });
    const build = await writeBuild(transaction, { caller, params, id }, found);
    await attempt.done(transaction, build);
    return build;
  });
  context.wake("builder");
  return row;
}

/** What its microVM may take of a disk: its own, with the context and what it unpacks, and the one that it builds on. */
function diskGibOf(plan: BuildPlan, template: Found["template"]): number {
  return BUILDER_DISK_GIB + (plan.on === null ? EMPTY_DISK_GIB : template.disk_gib);
}

async function writeBuild(
  transaction: Queries,
  { caller, params, id }: { readonly caller: Caller; readonly params: BuildParams; readonly id: string },
  found: Found,
): Promise<Build> {
  const { name, tag, request, plan, config, size, timeoutMs, stepTimeoutMs, egress } = params;
  const row = await insertBuild(
    transaction,
    {
      ...{ id, org_id: caller.orgId, name, tag },
      request: JSON.stringify(request),
      context: request.context === true ? "awaited" : "none",
      host_id: found.host.id,
      execution_id: newId("incarnation"),
      ...{ size: size.name, vcpus: size.vcpus, memory_mib: size.memory_mib },
      disk_gib: diskGibOf(plan, found.template),
      egress: JSON.stringify(egress(found.egress)),
      target: JSON.stringify(targetOf(plan, found)),
      config: JSON.stringify(config),
      template_id: newId("template"),
    },
    timeoutMs,
  );
  await insertSteps(transaction, plannedRows(row, plan, stepTimeoutMs));
  return buildOf(row, await stepsOf(transaction, [id]));
}
