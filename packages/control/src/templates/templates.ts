// Templates are files on hosts; what is known of them came with the last heartbeats. Hosts of different versions have different ones under one
// name.

import { SkerryError } from "@skerry/contract/errors";
import type { BuiltInTemplate, Template } from "@skerry/contract/templates/template";
import { builtInTags } from "@skerry/contract/templates/template-name";
import { failedText } from "@skerry/contract/waits-for";
import { listHostRows } from "../hosts/host-rows.ts";
import type { Tenant } from "../caller.ts";
import type { Context } from "../context.ts";
import { templatesOfOrganization } from "./own-template-rows.ts";
import { findOwnTemplate, ownTemplateOf, templateNotFound } from "./own-templates.ts";

/** Versions of an organization's own that a list shows, the newest. */
const OWN_SHOWN_MAX = 500;

/** Every built-in template that some host has, by name, and then the organization's own, newest first. One that is ready anywhere is shown as ready. */
export async function listTemplates({ db }: Context, { orgId }: Tenant): Promise<Template[]> {
  const [hosts, own] = await Promise.all([
    listHostRows(db),
    templatesOfOrganization(db, orgId, OWN_SHOWN_MAX),
  ]);
  return [...templatesOf(hosts).map(shownBuiltIn), ...own.map(ownTemplateOf)];
}

export async function getTemplate(context: Context, { orgId }: Tenant, asked: string): Promise<Template> {
  const hosts = await listHostRows(context.db);
  // By name the one that is shown, by id just this one.
  const builtIn = findTemplate([...templatesOf(hosts), ...hosts.flatMap((host) => host.templates)], asked);
  if (builtIn !== undefined) return shownBuiltIn(builtIn);
  const own = await findOwnTemplate(context.db, orgId, asked);
  if (own === undefined) throw templateNotFound(asked);
  return ownTemplateOf(own);
}

function shownBuiltIn(template: BuiltInTemplate): Template {
  const { failure = null, building_since = null, progress = null } = template;
  return {
    ...template,
    ...{ failure, building_since, progress },
    waits_for: waitsForOfTemplate(template),
    ...{
      tags: [],
      digest: null,
      bytes: null,
      frozen_bytes: null,
      user: null,
      workdir: null,
      source: null,
      build_id: null,
      created_at: null,
    },
  };
}

/** A template that failed waits for its next attempt, and one that was not begun for the image before it. */
function waitsForOfTemplate(template: BuiltInTemplate): Template["waits_for"] {
  const { status, failure, building_since: since } = template;
  const wait = { kind: "attempt", id: null, name: null } as const;
  if (failure != null && status === "failed")
    return { ...wait, reason: failedText(failure), since: failure.failed_at };
  if (status !== "building" || since !== null || failure == null) return null;
  return {
    ...wait,
    kind: "place",
    reason: "waits until its host has made another image",
    since: failure.failed_at,
  };
}

/** Names of all that hosts have built in. */
export async function builtInNames({ db }: Context): Promise<string[]> {
  return templatesOf(await listHostRows(db)).map(({ name }) => name);
}

/** Those of the hosts that have the template, or are nearest to having it; or why there are none. */
export function hostsWithTemplate<Host extends WithTemplates>(
  online: readonly Host[],
  nameOrId: string,
): readonly Host[] | SkerryError {
  if (online.length === 0) {
    return new SkerryError("host_unavailable", "No host is online to take the VM.", {
      remediation: "Try again in a few seconds; `GET /v1/status` counts the hosts by their state.",
      retryAfterS: NO_HOST_RETRY_S,
    });
  }
  const rankOn = ({ templates }: WithTemplates): number =>
    rank[findTemplate(templates, nameOrId)?.status ?? "none"];
  const best = Math.max(...online.map(rankOn));
  if (best === rank.none) return unknownTemplate(nameOrId, templatesOf(online));
  return online.filter((host) => rankOn(host) === best);
}

/** The period of heartbeats, in seconds: sooner nothing changes. */
const NO_HOST_RETRY_S = 10;

const rank = { ready: 4, building: 3, on_demand: 2, failed: 1, none: 0 } as const;

interface WithTemplates {
  readonly templates: readonly BuiltInTemplate[];
}

function templatesOf(hosts: readonly WithTemplates[]): BuiltInTemplate[] {
  const byName = new Map<string, BuiltInTemplate>();
  for (const template of hosts.flatMap((host) => host.templates)) {
    const known = byName.get(template.name);
    if (known === undefined || rank[template.status] > rank[known.status])
      byName.set(template.name, template);
  }
  return [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** As one host has it: each builds its own. A tag such as `node:22` is a template of its own. */
export function findTemplate(
  templates: readonly BuiltInTemplate[],
  nameOrId: string,
): BuiltInTemplate | undefined {
  const asked = builtInTags.get(nameOrId) ?? nameOrId;
  return templates.find((template) => template.name === asked || template.id === asked);
}

function unknownTemplate(name: string, known: readonly BuiltInTemplate[]): SkerryError {
  const names = known.map((template) => template.name).join(", ");
  return new SkerryError("unknown_template", `There is no template "${name}".`, {
    remediation:
      names === ""
        ? "No host has a template yet."
        : `Use one of: ${names}; or your own, which \`GET /v1/templates\` lists.`,
    context: { field: "template", value: name },
  });
}
