// Whether a policy lets a guest go where a name leads. Pure.

import { canonicalName } from "@skerry/contract/domains";
import type { EgressDenial } from "@skerry/contract/vms/egress";
import type { Policy } from "./policy.ts";

export type NameRule = Extract<
  EgressDenial["rule"],
  "deny_domain" | "domain" | "no_domain" | "never" | "deny_cidr" | "private_network"
>;

/** The rule that refuses the name; undefined where it may be asked for. `name` is canonical. */
export function refusalOfName(policy: Policy, name: string): NameRule | undefined {
  if (policy.denyDomains.has(name)) return "deny_domain";
  if (policy.mode === "allow_all" || policy.allowDomains.has(name)) return undefined;
  return "domain";
}

/** The rule that refuses an address that a name has led to. `purpose`: a lookup may answer private addresses that are open to the guest by
 *  themselves; a connection that was decided by its name never goes to one. */
export function refusalOfAddress(
  policy: Policy,
  address: string,
  purpose: "lookup" | "connection",
): NameRule | undefined {
  if (policy.never.has(address)) return "never";
  if (policy.denyCidrs.has(address)) return "deny_cidr";
  if (!policy.privateNetworks.has(address)) return undefined;
  return purpose === "lookup" && policy.openCidrs.has(address) ? undefined : "private_network";
}

/** The canonical name in a `Host` field, where it names this port or none; undefined where it is an address or malformed. */
export function nameInHost(host: string, port: number): string | undefined {
  const [, name = "", digits] = /^([^:]*)(?::(\d{1,5}))?$/.exec(host) ?? [];
  if (digits !== undefined && Number(digits) !== port) return undefined;
  return canonicalName(name);
}
