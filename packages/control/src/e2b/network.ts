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
  const allowed = (network?.allowOut ?? []).map((text, index) => readCidr(`allowOut[${index}]`, text));
  const denied = (network?.denyOut ?? []).map((text, index) => readCidr(`denyOut[${index}]`, text));
  if (isInternetAllowed === false) denied.push(EVERYTHING);
  const isAllDenied = denied.some(({ prefix }) => prefix === 0);
  if (isAllDenied && !allowed.some(({ prefix }) => prefix === 0))
    return { mode: "deny_all", allow_cidrs: allowed.map(formatCidr) };
  const left = denied.flatMap((one) => without(one, allowed));
  return { mode: "allow_all", deny_cidrs: left.map(formatCidr) };
}

function readCidr(field: string, text: string): Cidr {
  const cidr = parseCidr(text);
  if (typeof cidr !== "string") return cidr.canonical;
  throw new SkerryError(
    "bad_request",
    `"${text.slice(0, 100)}" in "${field}" ${cidr}. Names of domains are not possible here.`,
  );
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
export function networkOf({ mode, allow_cidrs, deny_cidrs }: Egress): Required<E2bNetwork> {
  return {
    allowOut: allow_cidrs,
    denyOut: mode === "deny_all" ? [EVERYTHING_TEXT, ...deny_cidrs] : deny_cidrs,
  };
}
