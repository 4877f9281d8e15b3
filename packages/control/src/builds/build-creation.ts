// POST /v1/templates: the row of a build, the room that its microVM takes, and the steps that it will take. The service `builder` does the rest.

import type { Build } from "@skerry/contract/builds/build";
import type { BuildRequest } from "@skerry/contract/builds/build-request";
import { EMPTY_DISK_GIB } from "@skerry/build-plan/scripts/builder-scripts";
import { BUILDER_DISK_GIB } from "@skerry/contract/templates/template-name";
import { readSize } from "../values/sizes.ts";
import { newId } from "@skerry/contract/ids";
import { checkBuildQuota } from "../capacity/build-quota.ts";
import { reserve, type Found } from "../capacity/reservation.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import type { Attempt, Creation } from "../idempotency/create-once.ts";
import { readBuildParams, targetOf, type BuildParams } from "./build-params.ts";
import { answerAtOnce } from "./answered-build.ts";
import { stepsOf } from "./build-store.ts";
import { buildOf, getBuild } from "./builds.ts";
import { hostsWithKeys, takeCached } from "./cache-store.ts";
import { keysOf, longestPrefix, parentKey, possibleKeys, usesCache } from "./cached-prefix.ts";
import { createPush } from "./push-creation.ts";
import { writeBuild, type NewBuild as WrittenBuild } from "./write-build.ts";
import { SkerryError } from "@skerry/contract/errors";
import { holdSnapshotOn } from "../snapshots/hold-snapshot.ts";

export function buildCreation(context: Context, caller: Caller, build: AskedBuild): Creation<Build> {
  return { create: (attempt) => createBuild(context, { caller, ...build }, attempt) };
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
      const { push, ...request } = row.request;
      if (push === undefined)
        return createBuild(context, { caller, request, ownerId: row.owner_id }, attempt);
      const { name: _name, ...bounds } = request;
      const again = { ...bounds, image: push.image };
      return createPush(context, { caller, template: push.template_id, request: again }, attempt);
    },
  };
}

interface AskedBuild {
  readonly request: BuildRequest;
  /** The build gets it, where it was given away before. */
  readonly id?: string;
  /** Resource that the version is for. */
  readonly ownerId?: string | null;
}

interface NewBuild extends AskedBuild {
  readonly caller: Caller;
}

async function createBuild(
  context: Context,
  { caller, request, id = newId("build"), ownerId = null }: NewBuild,
  attempt: Attempt,
): Promise<Build> {
  const params = { ...(await readBuildParams(context, caller, request)), ownerId };
  const answered = await answerAtOnce(context, { caller, params, id }, attempt);
  if (answered !== undefined) {
    context.metrics.buildSteps.add(answered.steps.length, "hit");
    return answered;
  }
  const placement = {
    orgId: caller.orgId,
    template: params.placeAt,
    size: params.size,
    quotas: (template: Found["template"]) => ({ disk_gib: diskGibOf(params, template) }),
    ...(params.snapshot === undefined ? {} : { on: params.snapshot.host_id }),
    preferred: await hostsWithCache(context, caller.orgId, params),
  };
  const { row: build } = await reserve(context, placement, async (transaction, found) => {
    await checkBuildQuota(context, transaction, {
      orgId: caller.orgId,
      frozen: (params.request.sizes ?? []).map(readSize),
    });
    const { snapshot } = params;
    if (snapshot !== undefined && !(await holdSnapshotOn(transaction, snapshot.id, found.host.id)))
      throw snapshotGone(snapshot.id);
    const row = await writeBuild(
      transaction,
      await buildOn(context, transaction, { id, orgId: caller.orgId, params, found }),
    );
    const written = buildOf(row, await stepsOf(transaction, [row.id]));
    await attempt.done(transaction, written);
    return written;
  });
  context.metrics.buildSteps.add(build.steps.filter(({ cache_hit }) => cache_hit).length, "hit");
  context.wake("builder");
  return build;
}

/** Where it could begin behind steps that were carried out before, most of them first. */
async function hostsWithCache(context: Context, orgId: string, params: BuildParams): Promise<string[]> {
  if (!usesCache(context, params.request)) return [];
  await context.hostCapacity.refresh();
  const found = await Promise.all(
    possibleKeys(context, params).map((keys) => hostsWithKeys(context.db, orgId, keys)),
  );
  return [...new Set(found.flat())];
}

/** What its microVM may take of a disk: its own, with the context and what it unpacks, and the one that it builds on. */
function diskGibOf({ plan, snapshot }: BuildParams, template: Found["template"]): number {
  return BUILDER_DISK_GIB + (snapshot?.disk_gib ?? (plan.on === null ? EMPTY_DISK_GIB : template.disk_gib));
}

function snapshotGone(id: string): SkerryError {
  return new SkerryError(
    "unknown_snapshot",
    `The snapshot ${id} was deleted, or went to another host, meanwhile.`,
    {
      remediation: "Try again where it is still there: `GET /v1/snapshots` lists those of the organization.",
      context: { field: "from" },
    },
  );
}

interface Placed {
  readonly id: string;
  readonly orgId: string;
  readonly params: BuildParams;
  readonly found: Found;
}

/** With what the cache of its host has of it. */
async function buildOn(
  context: Context,
  transaction: Queries,
  { id, orgId, params, found }: Placed,
): Promise<WrittenBuild> {
  const { plan, request, egress } = params;
  const hostId = found.host.id;
  const parent = parentKey(params, found);
  const keys = keysOf(plan.steps, parent, request.context_digests);
  const asked = usesCache(context, request) ? keys.filter((key) => key !== null) : [];
  const cached = longestPrefix(keys, await takeCached(transaction, { orgId, hostId, keys: asked }));
  return {
    ...{ id, orgId, params, hostId, parent, keys, cached, isCarriedOut: true },
    egress: egress(found.egress),
    origin: targetOf(params, found),
    diskGib: diskGibOf(params, found.template),
  };
}
