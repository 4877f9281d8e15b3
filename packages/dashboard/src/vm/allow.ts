// What would let a refused connection pass, by the rule that refused it. Where nothing would, why.

import type { EgressDenial, EgressReport, EgressRequest } from "@skerry/sdk";

export interface Allowed {
  readonly title: string;
  readonly policy: EgressRequest;
  /** What the policy has in addition. */
  readonly changes: readonly string[];
  readonly note: string;
}

/** Why it cannot be allowed here. */
export interface NotAllowed {
  readonly why: string;
}

type Policy = Required<Pick<EgressReport, "mode" | "allow_cidrs" | "deny_cidrs" | "allow_ports" | "dns">> &
  Pick<EgressReport, "allow_domains" | "deny_domains" | "inject">;

/** Whole: what is left out of it, the server takes for empty. */
export function policyOf(report: EgressReport): Policy {
  const { mode, allow_cidrs, deny_cidrs, allow_ports, allow_domains, deny_domains, inject, dns } = report;
  return {
    ...{ mode, allow_cidrs, deny_cidrs, allow_ports, dns },
    ...(allow_domains !== undefined && { allow_domains }),
    ...(deny_domains !== undefined && { deny_domains }),
    ...(inject !== undefined && { inject }),
  };
}

export function allowing(
  { address, domain, port, rule }: EgressDenial,
  policy: Policy,
): Allowed | NotAllowed {
  if (rule === "domain" && domain !== undefined) return allowingDomain(domain, policy);
  if (rule === "deny_domain")
    return { why: "A denied domain names it, and a denied domain wins over every allowed one." };
  if (rule === "no_domain")
    return {
      why: "Domains decide here, and it showed no name: no SNI, an encrypted hello, QUIC, or no HTTP.",
    };
  if (rule === "port") return allowingPort(port, policy);
  if (rule === "dns")
    return {
      title: "Let names be looked up",
      policy: { ...policy, dns: true },
      changes: ["dns"],
      note: "What a name resolves to is still decided by the networks.",
    };
  if (rule === "deny_all" || rule === "private_network") return allowingAddress({ address, port }, policy);
  if (rule === "deny_cidr")
    return { why: "A denied network names it, and a denied network wins over every allowed one." };
  if (rule === "rate_limit") return { why: "It sent more than its share; the rest passed." };
  if (rule === "connection_limit") return { why: "It had as many connections open as it may." };
  return {
    why: "No policy allows it: it is the host's own, another guest's, or a network for the machine itself.",
  };
}

function allowingDomain(domain: string, policy: Policy): Allowed {
  return {
    title: `Allow ${domain}`,
    policy: { ...policy, allow_domains: [...(policy.allow_domains ?? []), domain] },
    changes: [domain],
    note: `HTTP on port 80 and TLS on port 443 pass to this name, wherever it leads but to private addresses.${others(policy)}`,
  };
}

/** What is opened by the addresses that the guest's own lookup of a name is answered with. */
function others({ mode, allow_ports: ports }: Policy): string {
  if (mode !== "deny_all") return "";
  if (ports.length === 0) return " Other protocols pass to the addresses that it is looked up to.";
  return ` The TCP ports ${ports.join(", ")} pass to the addresses that it is looked up to.`;
}

function allowingAddress({ address, port }: { address: string; port: number }, policy: Policy): Allowed {
  const cidr = `${address}/32`;
  const ports = policy.allow_ports;
  const addsPort = ports.length > 0 && port !== 0 && !ports.includes(port);
  const passing =
    ports.length === 0
      ? "on every port"
      : `on the TCP ports ${[...ports, ...(addsPort ? [port] : [])].join(", ")}`;
  return {
    title: `Allow ${cidr}`,
    policy: {
      ...policy,
      allow_cidrs: [...policy.allow_cidrs, cidr],
      allow_ports: addsPort ? [...ports, port] : ports,
    },
    changes: [cidr, ...(addsPort ? [`port ${port}`] : [])],
    note: `This address passes ${passing}. A name may have more addresses, and change them.`,
  };
}

function allowingPort(port: number, policy: Policy): Allowed {
  const count = policy.allow_cidrs.length;
  return {
    title: `Allow port ${port}`,
    policy: { ...policy, allow_ports: [...policy.allow_ports, port] },
    changes: [`port ${port}`],
    note: `For ${count === 1 ? "the allowed network" : `all ${count} allowed networks`}${(policy.allow_domains ?? []).length > 0 ? ", and for what allowed names lead to" : ""}.`,
  };
}
