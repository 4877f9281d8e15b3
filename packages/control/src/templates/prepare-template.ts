// Built-in templates whose image is wanted before the first VM of them is.

import { SkerryError } from "@skerry/contract/errors";
import type { Template } from "@skerry/contract/templates/template";
import type { Tenant } from "../caller.ts";
import type { Context } from "../context.ts";
import { whyNoHost } from "../hosts/draining-hosts.ts";
import { listHostRows } from "../hosts/host-rows.ts";
import { findTemplate, getTemplate } from "./templates.ts";
import { templateNotFound } from "./own-templates.ts";

/**
 * Each host that is online and has it makes its image, where it has none. Throws `template_not_found`, and
 * `host_unavailable` or `host_draining` where no host took the order.
 */
export async function prepareTemplate(context: Context, tenant: Tenant, name: string): Promise<Template> {
  const having = (await listHostRows(context.db)).flatMap(({ address, status, desired, templates }) => {
    const found = findTemplate(templates, name);
    return found === undefined ? [] : [{ address, status, desired, name: found.name }];
  });
  if (having.length === 0) throw templateNotFound(name);
  const online = having.filter(({ status }) => status === "online");
  const orders = await Promise.allSettled(
    online.map((host) => context.hosts.client(host.address).templates.prepare(host.name)),
  );
  if (!orders.some(({ status }) => status === "fulfilled")) throw whyNoHost(having, noneTookIt(orders));
  // Hosts tell of their templates with their heartbeats.
  context.wake("host-heartbeat");
  return getTemplate(context, tenant, name);
}

function noneTookIt(orders: readonly PromiseSettledResult<void>[]): SkerryError {
  const refused = orders.find((order) => order.status === "rejected");
  if (refused?.reason instanceof SkerryError) return refused.reason;
  return new SkerryError("host_unavailable", "No host that has the template is online.", {
    remediation: "Try again when a host is back.",
    cause: refused?.reason,
  });
}
