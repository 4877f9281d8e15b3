// A build of what was built before makes nothing: the version that is there gets its tag. Versions never change, so two that were made of the same
// are one.

import type { Build } from "@skerry/contract/builds/build";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import type { Attempt } from "../idempotency/create-once.ts";
import { egressSettings } from "../organizations/egress-settings.ts";
import { canBeTagged, tagVersion } from "../templates/own-templates.ts";
import { appendLines } from "./build-log-store.ts";
import type { BuildParams } from "./build-params.ts";
import { proceedBuild, stepsOf, type BuildRow } from "./build-store.ts";
import { buildOf } from "./builds.ts";
import { countBuildEnd } from "./count-build-end.ts";
import { possibleKeys, usesCache, wholeKey } from "./cached-prefix.ts";
import { skipAllSteps } from "./step-store.ts";
import { writeBuild } from "./write-build.ts";
import { holdTemplate, templateByKey, type OwnTemplateRow } from "../templates/own-template-rows.ts";

type Version = OwnTemplateRow & { readonly host_id: string };

interface Asked {
  readonly caller: Caller;
  readonly params: BuildParams;
  /** That the build gets. */
  readonly id: string;
}

/** Undefined where something is to be built, or that cannot be told yet. */
export async function answerAtOnce(
  context: Context,
  { caller, params, id }: Asked,
  attempt: Attempt,
): Promise<Build | undefined> {
  const version = await versionAskedFor(context, { caller, params });
  if (version === undefined) return undefined;
  const answered = await context.db.transaction().execute(async (transaction) => {
    if (!(await holdTemplate(transaction, version.id))) return undefined;
    const row = await writeBuild(transaction, {
      ...{ id, orgId: caller.orgId, params, hostId: version.host_id, isCarriedOut: false },
      egress: params.egress(await egressSettings(transaction, caller.orgId)),
      origin: { on: { kind: "image", image: version.image }, disk_gib: version.disk_gib },
      ...{ parent: "", keys: [], cached: [], diskGib: version.disk_gib },
    });
    const building = await proceedBuild(transaction, row, "building");
    const ready = building && (await answerWith(transaction, building, version));
    if (ready === undefined) throw new Error("a build that was just written has another writer");
    const build = buildOf(ready, await stepsOf(transaction, [ready.id]));
    await attempt.done(transaction, build);
    return build;
  });
  return countBuildEnd(context, answered);
}

async function versionAskedFor(
  context: Context,
  { caller, params }: Omit<Asked, "id">,
): Promise<Version | undefined> {
  const { request } = params;
  if (!usesCache(context, request)) return undefined;
  await context.hostCapacity.refresh();
  const { hosts } = context.hostCapacity;
  const keys = possibleKeys(context, params).map((steps) =>
    wholeKey(steps, { config: params.config, sizes: request.sizes }),
  );
  return findVersion(
    context,
    { org_id: caller.orgId, name: params.name, tag: params.tag, owner_id: params.ownerId, request },
    { keys, hostIds: hosts.map(({ id }) => id) },
  );
}

/** The version that has all of these, can take the tag, and is on one of these hosts. */
async function findVersion(
  context: Context,
  {
    org_id,
    name,
    tag,
    owner_id,
    request,
  }: Pick<BuildRow, "org_id" | "name" | "tag" | "owner_id" | "request">,
  { keys, hostIds }: { readonly keys: readonly (string | null)[]; readonly hostIds: readonly string[] },
): Promise<Version | undefined> {
  const known = keys.filter((key) => key !== null);
  if (!usesCache(context, request) || known.length === 0) return undefined;
  const wanted = { orgId: org_id, name, ownerId: owner_id };
  const version = await templateByKey(context.db, wanted, { keys: known, hostIds });
  return version !== undefined && canBeTagged(version, tagsOf({ tag, request })) ? version : undefined;
}

/** Ready with what there is, where that was made of the same: now it is known what the context holds. */
export async function answerFromVersion(
  context: Context,
  build: BuildRow,
  keys: readonly (string | null)[],
): Promise<BuildRow | undefined> {
  const key = wholeKey(keys, { config: build.config, sizes: build.request.sizes });
  const version = await findVersion(context, build, { keys: [key], hostIds: [build.host_id] });
  if (version === undefined) return undefined;
  const ready = await context.db
    .transaction()
    .execute((transaction) => answerWith(transaction, build, version));
  return countBuildEnd(context, ready);
}

/** The build is ready, with this version. Undefined where that was deleted, or another writer was first. */
async function answerWith(
  transaction: Queries,
  build: BuildRow,
  version: OwnTemplateRow,
): Promise<BuildRow | undefined> {
  if (!(await holdTemplate(transaction, version.id))) return undefined;
  const ready = await proceedBuild(transaction, build, "ready", { templateId: version.id });
  if (ready === undefined) return undefined;
  await skipAllSteps(transaction, build.id);
  await tagVersion(transaction, version, tagsOf(build));
  await appendLines(transaction, {
    buildId: build.id,
    step: null,
    texts: [`Nothing has changed: ${version.id} was made of the same.`],
  });
  return ready;
}

function tagsOf({ tag, request }: Pick<BuildRow, "tag" | "request">): string[] {
  return [tag, ...(request.more_tags ?? [])];
}
