// Templates are files on hosts; what is known of them came with the last heartbeats.

import { SkerryError } from "@skerry/contract/errors";
import type { Template } from "@skerry/contract/platform";
import { listHosts } from "../store/hosts.ts";
import type { HostLoad } from "../store/room.ts";
import type { Context } from "./context.ts";

/** Every template that some host has, by name. One that is ready anywhere is shown as ready. */
export async function listTemplates(context: Context): Promise<Template[]> {
  return templatesOf(await listHosts(context.db));
}

export async function getTemplate(context: Context, nameOrId: string): Promise<Template> {
  const template = findTemplate(await listTemplates(context), nameOrId);
  if (template !== undefined) return template;
  throw new SkerryError("template_not_found", "There is no such template.", {
    remediation: "`GET /v1/templates` lists the templates.",
  });
}

/** The template, and those of the hosts that have it; or why there are none. */
export function templateAmong(
  online: readonly HostLoad[],
  nameOrId: string,
): { readonly template: Template; readonly hosts: readonly HostLoad[] } | SkerryError {
  if (online.length === 0) {
    return new SkerryError("host_unavailable", "No host is online to take the VM.", {
      remediation: "Try again in a few seconds; `skerry status` shows the state of the hosts.",
      retryAfterS: NO_HOST_RETRY_S,
    });
  }
  const template = findTemplate(templatesOf(online), nameOrId);
  if (template === undefined) return unknownTemplate(nameOrId, templatesOf(online));
  const hosts = online.filter((host) => findTemplate(host.templates, template.name) !== undefined);
  return { template, hosts };
}

/** The period of heartbeats, in seconds: sooner nothing changes. */
const NO_HOST_RETRY_S = 10;

const rank = { ready: 2, building: 1, failed: 0 } as const;

function templatesOf(hosts: readonly Pick<HostLoad, "templates">[]): Template[] {
  const byName = new Map<string, Template>();
  for (const template of hosts.flatMap((host) => host.templates)) {
    const known = byName.get(template.name);
    if (known === undefined || rank[template.status] > rank[known.status])
      byName.set(template.name, template);
  }
  return [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function findTemplate(templates: readonly Template[], nameOrId: string): Template | undefined {
  return templates.find((template) => template.name === nameOrId || template.id === nameOrId);
}

function unknownTemplate(name: string, known: readonly Template[]): SkerryError {
  const names = known.map((template) => template.name).join(", ");
  return new SkerryError("unknown_template", `There is no template "${name}".`, {
    remediation: names === "" ? "No host has a template yet." : `Use one of: ${names}.`,
    context: { field: "template", value: name },
  });
}
