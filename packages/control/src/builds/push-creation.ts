// POST /v1/templates/{template}/push: a build that makes an image of a version, and no template. Room, bounds, log, cancel and what follows when a
// process dies are those of builds.

import type { Build } from "@skerry/contract/builds/build";
import { planPush } from "@skerry/build-plan/plan/plan-push";
import type { TemplatePushRequest } from "@skerry/contract/builds/template-push";
import { SkerryError } from "@skerry/contract/errors";
import { isId, newId } from "@skerry/contract/ids";
import {
  BUILDER_DISK_GIB,
  DEFAULT_TAG,
  parsePinnedName,
  parseTemplateName,
} from "@skerry/contract/templates/template-name";
import { checkBuildQuota } from "../capacity/build-quota.ts";
import { reserve, type Found } from "../capacity/reservation.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import type { Attempt, Creation } from "../idempotency/create-once.ts";
import { findOwnTemplate } from "../templates/own-templates.ts";
import { quoted } from "../values/quoted.ts";
import { readBuildBounds } from "./build-params.ts";
import { stepsOf } from "./build-store.ts";
import { buildOf } from "./builds.ts";
import { writeBuild } from "./write-build.ts";
import type { OwnTemplateRow } from "../templates/own-template-rows.ts";

interface NewPush {
  readonly caller: Caller;
  /** Name, name and tag, or id. */
  readonly template: string;
  readonly request: TemplatePushRequest;
}

export function pushCreation(
  context: Context,
  caller: Caller,
  template: string,
  request: TemplatePushRequest,
): Creation<Build> {
  return { create: (attempt) => createPush(context, { caller, template, request }, attempt) };
}

/** Throws `template_not_found` where the organization has built none of this name, `invalid_build`, and what reserving room throws. */
export async function createPush(
  context: Context,
  { caller, template, request }: NewPush,
  attempt: Attempt,
): Promise<Build> {
  const { orgId } = caller;
  const own = await findOwnTemplate(context.db, orgId, template);
  if (own === undefined) throw notPushable(template);
  const push = readPush(context, { own, template, request });
  const diskGib = BUILDER_DISK_GIB + own.disk_gib;
  const placement = {
    ...{ orgId, template: own.id, size: push.bounds.size },
    quotas: () => ({ disk_gib: diskGib }),
  };
  const { row: build } = await reserve(context, placement, async (transaction, found) => {
    await checkBuildQuota(context, transaction, { orgId, frozen: undefined });
    const written = await writePush(transaction, { push, own, found, diskGib });
    await attempt.done(transaction, written);
    return written;
  });
  context.wake("builder");
  return build;
}

type Push = ReturnType<typeof readPush>;

/** Throws for what can be told before there is a microVM. */
function readPush(
  context: Context,
  { own, template, request }: Pick<NewPush, "template" | "request"> & { readonly own: OwnTemplateRow },
) {
  const { image, ...bounds } = request;
  const { id, name, config } = own;
  // It shows in no call but this one's answer and the build's.
  const isNamed = !isId("template", template) && parsePinnedName(template) === undefined;
  const tag = isNamed ? parseTemplateName(template).tag : own.tags[0];
  return {
    params: {
      ...{ name, config, tag: tag ?? DEFAULT_TAG, ownerId: null, stepTimeoutMs: null },
      request: { name, ...bounds, push: { template_id: id, image } },
      plan: planPush({ template: id, image, config: plannedConfig(config), createdAt: own.created_at }),
    },
    bounds: readBuildBounds(context, bounds),
  };
}

function plannedConfig({ env, user, workdir, start }: OwnTemplateRow["config"]) {
  return { env, user, workdir, ...(start !== undefined && { start: { command: start.command } }) };
}

interface Placed {
  readonly push: Push;
  readonly own: OwnTemplateRow;
  readonly found: Found;
  readonly diskGib: number;
}

async function writePush(
  transaction: Queries,
  { push: { params, bounds }, own, found, diskGib }: Placed,
): Promise<Build> {
  const row = await writeBuild(transaction, {
    ...{ id: newId("build"), orgId: own.org_id, hostId: found.host.id, diskGib, isCarriedOut: true },
    params: { ...params, ...bounds },
    egress: bounds.egress(found.egress),
    origin: { on: { kind: "image", image: own.image }, disk_gib: own.disk_gib },
    // Nothing of it is cached.
    ...{ parent: "", keys: [], cached: [] },
  });
  return buildOf(row, await stepsOf(transaction, [row.id]));
}

function notPushable(asked: string): SkerryError {
  return new SkerryError("template_not_found", `The organization has built no template ${quoted(asked)}.`, {
    remediation:
      "`GET /v1/templates` lists the templates. To push a built-in one, build a template that stands on it.",
  });
}
