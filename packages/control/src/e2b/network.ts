// What a sandbox may reach, as E2B's clients say it, as an egress policy of ours, and back. Pure. With them an allowed network wins over a denied
// one, and what nothing names is allowed; with us a denied one wins. So what is allowed is taken out of what is denied.

import { contains, formatCidr, overlaps, parseCidr, type Cidr } from "@skerry/contract/cidrs";
import { SkerryError } from "@skerry/contract/errors";
import type { Egress, EgressRequest } from "@skerry/contract/vms/egress";

export interface E2bNetwork {
  readonly allowOut?: readonly string[];
  readonly denyOut?: readonly string[];
}

const EVERYTHING: Cidr = { address: 0, prefix: 0 };
const EVERYTHING_TEXT = "0.0.0.0/0";

/** Undefined where nothing is asked for: then the organization's default holds. */
export function egressRequestOf(
  network: E2bNetwork | undefined,
  isInternetAllowed: boolean | undefined,
): EgressRequest | undefined {
  if (network === undefined && isInternetAllowed === undefined) return undefined;
  const { allowed, domains } = readAllowed(network?.allowOut ?? []);
  const denied = readDenied(network?.denyOut ?? [], isInternetAllowed);
  if (isEverything(denied) && !isEverything(allowed)) {
    const names = domains.length === 0 ? {} : { allow_domains: domains };
    return { mode: "deny_all", allow_cidrs: allowed.map(formatCidr), ...names };
  }
  if (!isEverything(denied) && denied.length > 0) refuseDomains(domains);
  return { mode: "allow_all", deny_cidrs: denied.flatMap((one) => without(one, allowed)).map(formatCidr) };
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

/** With us a denied network is denied by any name. */
function refuseDomains([first]: readonly string[]): void {
  if (first === undefined) return;
  throw new SkerryError(
    "bad_request",
    `The domain "${first.slice(0, 100)}" can be allowed only where "denyOut" is "${EVERYTHING_TEXT}".`,
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

/** What is left of a network, as networks. */
function without(one: Cidr, others: readonly Cidr[]): Cidr[] {
  const near = others.filter((other) => overlaps(other, one));
  if (near.length === 0) return [one];
  if (near.some((other) => contains(other, one))) return [];
  // What is near lies inside it, so its prefix has room for one bit more.
  const prefix = one.prefix + 1;
  const halves = [one.address, one.address + ADDRESSES / 2 ** prefix];
  return halves.flatMap((address) => without({ address, prefix }, near));
}

/** As it was asked for, or says the same. */
export function networkOf({
  mode,
  allow_cidrs,
  deny_cidrs,
  allow_domains = [],
}: Egress): Required<E2bNetwork> {
  return {
    allowOut: [...allow_domains, ...allow_cidrs],
    denyOut: mode === "deny_all" ? [EVERYTHING_TEXT, ...deny_cidrs] : deny_cidrs,
  };
}
