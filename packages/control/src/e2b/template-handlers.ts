// Templates for E2B's clients. With them a template is all versions of one name, so its id is the name here.

import type { FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import { DEFAULT_SIZE, type Size } from "@skerry/contract/sizes";
import type { Template } from "@skerry/contract/templates/template";
import { parseTemplateName } from "@skerry/contract/templates/template-name";
import { Type } from "typebox";
import { callerOf } from "../api/authenticate-hook.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { deleteTemplates } from "../templates/delete-template.ts";
import { tagTemplate, templateNotFound, untagTemplate } from "../templates/own-templates.ts";
import { getTemplate, listTemplates } from "../templates/templates.ts";
import { deleteSnapshot } from "../snapshots/snapshots.ts";
import { readSize } from "../values/sizes.ts";
import { nativeNameOf } from "./bare-names.ts";
import { checker } from "./checked-body.ts";
import type { E2bHandler } from "./e2b-routes.ts";
import { ENVD_VERSION } from "./sandbox-view.ts";
import { checkTag } from "./template-build-handlers.ts";
import { sizesOfAskedBuilds } from "./template-store.ts";
import { uuidOf } from "./uuid-ids.ts";

const closed = { additionalProperties: false } as const;
const Tags = Type.Array(Type.String({ maxLength: 300 }), { minItems: 1, maxItems: 20 });
const readAssign = checker(
  Type.Object({ target: Type.String({ maxLength: 300 }), tags: Tags }, closed),
  "body",
);
const readRemove = checker(
  Type.Object({ name: Type.String({ maxLength: 300 }), tags: Tags }, closed),
  "body",
);
const readUpdate = checker(Type.Object({ public: Type.Optional(Type.Boolean()) }, closed), "body");

type BuiltTemplate = Template & { readonly build_id: string; readonly created_at: string };
/** With the size that its build asked for. */
type OwnTemplate = BuiltTemplate & Pick<Size, "vcpus" | "memory_mib">;

const isOwn = (template: Template): template is BuiltTemplate =>
  template.build_id !== null && template.created_at !== null;

const paramsOf = ({ params }: FastifyRequest) =>
  params as { readonly template: string; readonly alias: string };

/** The organization's own, by their names; versions newest first. */
async function ownByName(context: Context, caller: Caller): Promise<Map<string, OwnTemplate[]>> {
  const own = (await listTemplates(context, caller)).filter(isOwn);
  const builds = own.map(({ build_id }) => build_id);
  const sizes = await sizesOfAskedBuilds(context.db, caller.orgId, builds);
  const sized = own.map((one): OwnTemplate => {
    const { vcpus, memory_mib } = readSize(sizes.get(one.build_id) ?? DEFAULT_SIZE);
    return { ...one, vcpus, memory_mib };
  });
  return Map.groupBy(sized, ({ name }) => name);
}

async function versionsOf(
  context: Context,
  caller: Caller,
  asked: string,
): Promise<[OwnTemplate, ...OwnTemplate[]]> {
  const byName = await ownByName(context, caller);
  const named = byName.get(parseTemplateName(asked).name);
  const [first, ...others] = named ?? [...byName.values()].flat().filter(({ id }) => id === asked);
  if (first === undefined) throw templateNotFound(asked);
  return [first, ...others];
}

const MIB_PER_GIB = 1024;

function shown([newest, ...others]: [OwnTemplate, ...OwnTemplate[]]) {
  const { name } = newest;
  return {
    ...{ templateID: name, buildID: uuidOf(newest.build_id), aliases: [name], names: [name], public: false },
    ...{ cpuCount: newest.vcpus, memoryMB: newest.memory_mib, diskSizeMB: newest.disk_gib * MIB_PER_GIB },
    ...{ createdAt: (others.at(-1) ?? newest).created_at, updatedAt: newest.created_at, createdBy: null },
    ...{ lastSpawnedAt: null, spawnCount: 0, buildCount: others.length + 1 },
    ...{ envdVersion: ENVD_VERSION, buildStatus: "ready" },
  };
}

function shownBuild({ build_id, created_at, disk_gib, vcpus, memory_mib }: OwnTemplate) {
  return {
    ...{ buildID: uuidOf(build_id), status: "ready", createdAt: created_at, updatedAt: created_at },
    ...{ finishedAt: created_at, cpuCount: vcpus, memoryMB: memory_mib },
    ...{ diskSizeMB: disk_gib * MIB_PER_GIB, envdVersion: ENVD_VERSION },
  };
}

const ofTeam = { teamID: Type.Optional(Type.String({ maxLength: 100 })) };
const readListQuery = checker(Type.Object(ofTeam, closed), "querystring");
const PAGE_MAX = 100;
const readPageQuery = checker(
  Type.Object(
    {
      ...ofTeam,
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_MAX })),
      nextToken: Type.Optional(Type.String({ maxLength: 300 })),
    },
    closed,
  ),
  "querystring",
);

/** By their names. */
async function shownTemplates(context: Context, caller: Caller, team: string | undefined) {
  if (team !== undefined && team !== uuidOf(caller.orgId))
    throw new SkerryError("organization_not_found", "There is no such team.");
  const byName = [...(await ownByName(context, caller)).entries()].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return byName.flatMap(([, [first, ...others]]) => (first === undefined ? [] : [shown([first, ...others])]));
}

const listTemplatesOf: E2bHandler = (context, request) =>
  shownTemplates(context, callerOf(request), readListQuery(request.query).teamID);

/** A page; where the next one begins is in a header, as the name of the last template. */
const listPage: E2bHandler = async (context, request, reply) => {
  const { teamID, limit = PAGE_MAX, nextToken = "" } = readPageQuery(request.query);
  const after = Buffer.from(nextToken, "base64url").toString();
  const all = await shownTemplates(context, callerOf(request), teamID);
  const left = all.filter(({ templateID }) => templateID > after);
  const page = left.slice(0, limit);
  const last = page.at(-1);
  if (last !== undefined && left.length > page.length)
    void reply.header("x-next-token", Buffer.from(last.templateID).toString("base64url"));
  return page;
};

const templateDetail: E2bHandler = async (context, request) => {
  const versions = await versionsOf(context, callerOf(request), paramsOf(request).template);
  const { buildID: _newest, buildStatus: _ready, ...template } = shown(versions);
  return { ...template, builds: versions.map(shownBuild) };
};

const updateTemplate: E2bHandler = async (context, request) => {
  const { public: isPublic = false } = readUpdate(request.body);
  const [{ name }] = await versionsOf(context, callerOf(request), paramsOf(request).template);
  if (isPublic)
    throw new SkerryError("not_implemented", "Templates are an organization's own here, and never public.");
  return { names: [name] };
};

const deleteAllVersions: E2bHandler = async (context, request, reply) => {
  const caller = callerOf(request);
  const { template: asked } = paramsOf(request);
  const versions = await versionsOf(context, caller, asked).catch(async (error: unknown) => {
    if (!(error instanceof SkerryError) || error.code !== "template_not_found") throw error;
    // To the clients a snapshot is a template, and its name is one of a template.
    await deleteSnapshot(context, caller, asked);
    return [];
  });
  await deleteTemplates(
    context,
    caller,
    versions.map(({ id }) => id),
  );
  return reply.code(204).send(null);
};

const findAlias: E2bHandler = async (context, request) => {
  const caller = callerOf(request);
  const alias = await nativeNameOf(context, caller, paramsOf(request).alias);
  const { name } = await getTemplate(context, caller, alias);
  return { templateID: name, public: false };
};

const assignTags: E2bHandler = async (context, request, reply) => {
  const { target, tags } = readAssign(request.body);
  const caller = callerOf(request);
  const { name } = parseTemplateName(target);
  const own = tags.map((tag) => checkTag(tag.startsWith(`${name}:`) ? tag.slice(name.length + 1) : tag));
  const found = await getTemplate(context, caller, await nativeNameOf(context, caller, target));
  if (!isOwn(found)) throw templateNotFound(target);
  for (const tag of own) await tagTemplate(context, caller, { name: found.name, tag, template: found.id });
  return reply.code(201).send({ buildID: uuidOf(found.build_id), tags: own });
};

const removeTags: E2bHandler = async (context, request, reply) => {
  const { name, tags } = readRemove(request.body);
  const caller = callerOf(request);
  const versions = await versionsOf(context, caller, name);
  const known = new Set(versions.flatMap((version) => version.tags));
  for (const tag of tags.map(checkTag))
    if (known.has(tag)) await untagTemplate(context, caller, { name: versions[0].name, tag });
  return reply.code(204).send(null);
};

const listTags: E2bHandler = async (context, request) => {
  const versions = await versionsOf(context, callerOf(request), paramsOf(request).template);
  return versions.flatMap(({ tags, build_id, created_at }) =>
    tags.map((tag) => ({ tag, buildID: uuidOf(build_id), createdAt: created_at })),
  );
};

export const templateHandlers = {
  listTemplates: listTemplatesOf,
  listTemplatesV2: listPage,
  templateDetail,
  updateTemplate,
  updateTemplateV2: updateTemplate,
  deleteTemplate: deleteAllVersions,
  findAlias,
  assignTags,
  removeTags,
  listTags,
};
