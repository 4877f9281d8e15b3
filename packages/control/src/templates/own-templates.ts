// Templates that organizations have built. Each is a version that never changes; names with tags find versions.

import { SkerryError } from "@skerry/contract/errors";
import { isId } from "@skerry/contract/ids";
import type { Size } from "@skerry/contract/sizes";
import {
  builtInTags,
  DEFAULT_TAG,
  parseTemplateName,
  reservedTemplateNames,
  TAGS_MAX,
  TEMPLATE_NAME_PATTERN,
  TEMPLATE_TAG_PATTERN,
  parsePinnedName,
} from "@skerry/contract/templates/template-name";
import type { Template } from "@skerry/contract/templates/template";
import type { Versioned } from "../api/versioned.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { quoted } from "../values/quoted.ts";
import {
  insertTemplate,
  noteFrozenSize,
  noteTemplateOnHost,
  removeTag,
  setTag,
  templateByDigest,
  templateById,
  templateByTag,
  templatesOfIds,
  versionsOfName,
  type NewTemplate,
  type OwnTemplateRow,
} from "./own-template-rows.ts";

const MIB = 1024 ** 2;
const namePattern = new RegExp(TEMPLATE_NAME_PATTERN);
const tagPattern = new RegExp(TEMPLATE_TAG_PATTERN);

/** By id, by name, by name and tag, or by name and digest. Undefined where the organization has none of these. */
export async function findOwnTemplate(
  db: Queries,
  orgId: string,
  asked: string,
): Promise<OwnTemplateRow | undefined> {
  if (isId("template", asked)) return templateById(db, orgId, asked);
  const pinned = parsePinnedName(asked);
  if (pinned !== undefined) return templateByDigest(db, orgId, pinned);
  const { name, tag } = parseTemplateName(asked);
  if (!namePattern.test(name) || !tagPattern.test(tag)) return undefined;
  return templateByTag(db, orgId, { name, tag });
}

/** What a list that is filtered by `asked` compares the templates of its VMs with: one version, or all versions of a name without a tag. */
export async function templatesMeant(db: Queries, orgId: string, asked: string): Promise<readonly string[]> {
  const builtIn = builtInTags.get(asked);
  if (builtIn !== undefined) return [builtIn];
  const isOne = asked.includes(":") || isId("template", asked);
  if (isOne) return [(await findOwnTemplate(db, orgId, asked))?.id ?? asked];
  // Of a built-in template they have the name.
  return [asked, ...(await versionsOfName(db, orgId, asked))];
}

/** Throws `name_taken` where the name belongs to a built-in template or to the builder. */
export function checkTemplateName(name: string, builtIn: readonly string[]): string {
  if (!reservedTemplateNames.includes(name) && !builtIn.includes(name)) return name;
  throw new SkerryError(
    "name_taken",
    `${quoted(name)} is reserved: a built-in template or the builder has this name.`,
    {
      remediation: "Choose another name.",
      context: { field: "name", value: name },
    },
  );
}

/** A version that is ready on this host. Its tags mean it from now on, and so does `latest`. */
export async function publishTemplate(
  transaction: Queries,
  template: NewTemplate,
  {
    tags,
    hostId,
    frozen,
  }: { readonly tags: readonly string[]; readonly hostId: string; readonly frozen: readonly Size[] },
): Promise<void> {
  await insertTemplate(transaction, template);
  for (const size of frozen) await noteFrozenSize(transaction, template.id, size);
  const sizes = frozen.map(({ name }) => name);
  await noteTemplateOnHost(transaction, { templateId: template.id, hostId, sizes });
  await tagVersion(transaction, template, tags);
}

/**
 * These mean this version from now on, and so does `latest`. Tags are the organization's: one that an app has
 * built gets none.
 */
export async function tagVersion(
  transaction: Queries,
  { id, org_id, name, owner_id: ownerId }: Pick<OwnTemplateRow, "id" | "org_id" | "name" | "owner_id">,
  tags: readonly string[],
): Promise<void> {
  if (ownerId !== null) return;
  const named = { orgId: org_id, name, templateId: id };
  for (const one of new Set([...tags, DEFAULT_TAG])) await setTag(transaction, { ...named, tag: one });
}

/** False where it has its fill of tags. */
export function canBeTagged({ tags }: Pick<OwnTemplateRow, "tags">, more: readonly string[]): boolean {
  return new Set([...tags, ...more, DEFAULT_TAG]).size <= TAGS_MAX;
}

/** Those of these that there are. */
export async function findOwnTemplates(
  { db }: Context,
  orgId: string,
  ids: readonly string[],
): Promise<Versioned<Template>[]> {
  const rows = await templatesOfIds(db, orgId, ids);
  return rows.map((row) => ({ id: row.id, version: row.version, shownTo: () => ownTemplateOf(row) }));
}

/** Has the tag mean the version that `template` names now. Throws `template_not_found`, and `too_many_tags` where that version has its fill. */
export async function tagTemplate(
  { db }: Context,
  caller: Caller,
  { name, tag, template }: { readonly name: string; readonly tag: string; readonly template: string },
): Promise<Template> {
  return db.transaction().execute(async (transaction) => {
    const row = await findOwnTemplate(transaction, caller.orgId, template);
    if (row === undefined || row.name !== name) throw templateNotFound(template);
    await setTag(transaction, { orgId: caller.orgId, name, tag, templateId: row.id });
    const tagged = await templateById(transaction, caller.orgId, row.id);
    if (tagged === undefined) throw templateNotFound(template);
    // After its row was changed: of two requests at once, the second sees the tag of the first.
    if (tagged.tags.length > TAGS_MAX) throw tooManyTags();
    return ownTemplateOf(tagged);
  });
}

/** Has the tag mean no version any more. Throws `template_not_found` where it means none. */
export async function untagTemplate(
  { db }: Context,
  { orgId }: Caller,
  { name, tag }: { readonly name: string; readonly tag: string },
): Promise<void> {
  if (!(await removeTag(db, { orgId, name, tag }))) throw templateNotFound(`${name}:${tag}`);
}

export function ownTemplateOf(row: OwnTemplateRow): Template {
  return {
    id: row.id,
    name: row.name,
    description: "",
    disk_gib: row.disk_gib,
    status: "ready",
    ...{ failure: null, building_since: null, progress: null, waits_for: null },
    tags: [...row.tags],
    digest: row.digest,
    bytes: Number(row.bytes),
    frozen_bytes: row.frozen_mib * MIB,
    user: row.config.user,
    workdir: row.config.workdir,
    source: row.source,
    build_id: row.build_id,
    created_at: row.created_at.toISOString(),
  };
}

function tooManyTags(): SkerryError {
  return new SkerryError("too_many_tags", `A version of a template has at most ${TAGS_MAX} tags.`, {
    remediation: "Give one of its tags to another version, or use one that it has.",
    context: { field: "tag", limit: TAGS_MAX },
  });
}

export function templateNotFound(asked: string): SkerryError {
  return new SkerryError("template_not_found", `There is no template ${quoted(asked)}.`, {
    remediation: "`GET /v1/templates` lists the templates.",
  });
}
