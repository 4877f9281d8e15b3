// Templates are files on hosts; what is known of them came with the last heartbeats. Hosts of different versions have different ones under one
// name.

import { SkerryError } from "@skerry/contract/errors";
import type { Template } from "@skerry/contract/templates/template";
import { listHostRows } from "../hosts/host-rows.ts";
import type { Context } from "../context.ts";

/** Every template that some host has, by name. One that is ready anywhere is shown as ready. */
export async function listTemplates(context: Context): Promise<Template[]> {
  return templatesOf(await listHostRows(context.db));
}

export async function getTemplate(context: Context, nameOrId: string): Promise<Template> {
  const hosts = await listHostRows(context.db);
  // By name the one that is shown, by id just this one.
  const template = findTemplate(
    [...templatesOf(hosts), ...hosts.flatMap((host) => host.templates)],
    nameOrId,
  );
  if (template !== undefined) return template;
  throw new SkerryError("template_not_found", "There is no such template.", {
    remediation: "`GET /v1/templates` lists the templates.",
  });
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

const rank = { ready: 3, building: 2, failed: 1, none: 0 } as const;

interface WithTemplates {
  readonly templates: readonly Template[];
}

function templatesOf(hosts: readonly WithTemplates[]): Template[] {
  const byName = new Map<string, Template>();
  for (const template of hosts.flatMap((host) => host.templates)) {
    const known = byName.get(template.name);
    if (known === undefined || rank[template.status] > rank[known.status])
      byName.set(template.name, template);
  }
  return [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** As one host has it: each builds its own. */
export function findTemplate(templates: readonly Template[], nameOrId: string): Template | undefined {
  return templates.find((template) => template.name === nameOrId || template.id === nameOrId);
}

function unknownTemplate(name: string, known: readonly Template[]): SkerryError {
  const names = known.map((template) => template.name).join(", ");
  return new SkerryError("unknown_template", `There is no template "${name}".`, {
    remediation: names === "" ? "No host has a template yet." : `Use one of: ${names}.`,
    context: { field: "template", value: name },
  });
}
