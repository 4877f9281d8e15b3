// What a sandbox may reach, as E2B's clients say it, as an egress policy of ours, and back. Pure. With them an allowed network wins over a denied
// one, and what nothing names is allowed; with us a denied one wins. So what is allowed is taken out of what is denied.

import { contains, formatCidr, overlaps, parseCidr, type Cidr } from "@skerry/contract/cidrs";
import { SkerryError } from "@skerry/contract/errors";
import { injectRulesOf, networkRulesOf, type NetworkRules } from "./network-rules.ts";
import { EGRESS_MAX_ENTRIES, type Egress, type EgressRequest } from "@skerry/contract/vms/egress";

export interface E2bNetwork {
  readonly allowOut?: readonly string[];
  readonly denyOut?: readonly string[];
  readonly rules?: NetworkRules;
}

const EVERYTHING: Cidr = { address: 0, prefix: 0 };
const EVERYTHING_TEXT = "0.0.0.0/0";

/** Undefined where nothing is said of networks and of the internet: then the organization's default holds. */
export function egressRequestOf(
  network: E2bNetwork | undefined,
  isInternetAllowed: boolean | undefined,
): EgressRequest | undefined {
  const inject = injectRulesOf(network?.rules);
  const reach = reachOf(network, isInternetAllowed);
  return inject.length === 0 ? reach : { ...reach, inject };
}

function reachOf(
  network: E2bNetwork | undefined,
  isInternetAllowed: boolean | undefined,
): EgressRequest | undefined {
  const { allowOut = [], denyOut = [] } = network ?? {};
  if (allowOut.length === 0 && denyOut.length === 0 && isInternetAllowed === undefined) return undefined;
  const { allowed, domains } = readAllowed(allowOut);
  const denied = readDenied(denyOut, isInternetAllowed);
  if (!isEverything(denied)) refuseDomains(domains);
  if (isEverything(denied) && !isEverything(allowed)) {
    const names = domains.length === 0 ? {} : { allow_domains: domains };
    return { mode: "deny_all", allow_cidrs: allowed.map(formatCidr), ...names };
  }
  return { mode: "allow_all", deny_cidrs: withoutAll(denied, allowed).map(formatCidr) };
}

function readDenied(texts: readonly string[], isInternetAllowed: boolean | undefined): Cidr[] {
  const denied = texts.map((text, index) => readCidr(`denyOut[${index}]`, text));
  return isInternetAllowed === false ? [...denied, EVERYTHING] : denied;
}

const isEverything = (networks: readonly Cidr[]): boolean => networks.some(({ prefix }) => prefix === 0);

function readAllowed(texts: readonly string[]) {
  const entries = texts.map((text, index) => ({ field: `allowOut[${index}]`, text }));
  return {
    allowed: entries.filter(({ text }) => !isDomain(text)).map(({ field, text }) => readCidr(field, text)),
    domains: texts.filter(isDomain),
  };
}

/** Only where everything else is denied does an allowed domain change anything: with us a denied network is denied by any name. */
function refuseDomains([first]: readonly string[]): void {
  if (first === undefined) return;
  throw new SkerryError(
    "bad_request",
    `The domain "${first.slice(0, 100)}" in "allowOut" can be allowed only where everything else is denied: add "${EVERYTHING_TEXT}" to "denyOut".`,
  );
}

/** Such as `example.com` or `*.example.com`; what is wrong with one is for the policy to say. */
function isDomain(text: string): boolean {
  return /^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?$/i.test(text) && /[a-z]/i.test(text);
}

function readCidr(field: string, text: string): Cidr {
  const cidr = parseCidr(text);
  if (typeof cidr !== "string") return cidr.canonical;
  throw new SkerryError("bad_request", `"${text.slice(0, 100)}" in "${field}" ${cidr}.`);
}

const ADDRESSES = 2 ** 32;

/** What is left of these networks. Throws `bad_request` where that is more networks than a policy has. */
function withoutAll(denied: readonly Cidr[], allowed: readonly Cidr[]): Cidr[] {
  const left: Cidr[] = [];
  for (const one of outermost(denied)) {
    for (const rest of without(one, allowed)) {
      if (left.length === EGRESS_MAX_ENTRIES) throw tooMany();
      left.push(rest);
    }
  }
  return left;
}

/** Without networks that are there already, or lie inside another one. */
function outermost(networks: readonly Cidr[]): Cidr[] {
  const found: Cidr[] = [];
  // By address, and the larger network first, so only the last one found can contain the next.
  for (const one of networks.toSorted((a, b) => a.address - b.address || a.prefix - b.prefix)) {
    const last = found.at(-1);
    if (last === undefined || !contains(last, one)) found.push(one);
  }
  return found;
}

/** What is left of a network, as networks, one at a time: a few allowed addresses can leave thousands. */
function* without(one: Cidr, others: readonly Cidr[]): Generator<Cidr> {
  const near = others.filter((other) => overlaps(other, one));
  if (near.some((other) => contains(other, one))) return;
  if (near.length === 0) {
    yield one;
    return;
  }
  // What is near lies inside it, so its prefix has room for one bit more.
  const prefix = one.prefix + 1;
  yield* without({ address: one.address, prefix }, near);
  yield* without({ address: one.address + ADDRESSES / 2 ** prefix, prefix }, near);
}

function tooMany(): SkerryError {
  return new SkerryError(
    "bad_request",
    `What "allowOut" leaves of "denyOut" is more than ${EGRESS_MAX_ENTRIES} networks: allow fewer and larger networks, or deny "${EVERYTHING_TEXT}".`,
  );
}

/** As it was asked for, or says the same. */
export function networkOf({ mode, allow_cidrs, deny_cidrs, allow_domains = [], inject }: Egress): E2bNetwork {
  return {
    ...networkRulesOf(inject),
    allowOut: [...allow_domains, ...allow_cidrs.map(shortest)],
    denyOut: [...(mode === "deny_all" ? [EVERYTHING_TEXT] : []), ...deny_cidrs.map(shortest)],
  };
}

/** Of one address it is that, as it is asked for nearly always. */
function shortest(network: string): string {
  return network.replace(/\/32$/, "");
}
