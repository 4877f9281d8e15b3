// Private networks belong to the operator of the platform, who grants them to organizations. Grants are changed past the API, so that no
// token can reach the operator's networks by itself.

import { cidrOf, formatCidr, parseCidr } from "@skerry/contract/cidrs";
import { PRIVATE_CIDRS_MAX, type Egress, type HostEgress } from "@skerry/contract/vms/egress";
import { SkerryError } from "@skerry/contract/errors";
import { isPrivate, privateNetworks, whyNever, withGrants } from "@skerry/contract/vms/networks";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { makeLeaseDue } from "../background/make-lease-due.ts";
import { listGranted, privateCidrsOf, setPrivateCidrs, type Granted } from "./private-cidr-store.ts";
import { recordOwnActs } from "../audit/audit-log.ts";
import { canonicalCidrs } from "../values/cidrs.ts";

/** The policy of a VM with the private networks that its organization was granted. */
export async function grantedEgress(
  db: Queries,
  { org_id, egress }: { readonly org_id: string; readonly egress: Egress },
): Promise<HostEgress> {
  // Most policies allow no CIDR, and creating a sandbox should not ask the database once more for them.
  if (egress.allow_cidrs.length === 0) return egress;
  return withGrants(egress, (await privateCidrsOf(db, org_id)) ?? []);
}

/** For `skerry set-private-cidrs`. `words`: the organization's id and what it is granted from now on, or `none`. Without networks the
 *  grants stay as they are; without an organization all grants are told. */
export async function changePrivateCidrs(
  context: Pick<Context, "db" | "rooms">,
  words: readonly string[],
): Promise<readonly Granted[] | { readonly allowed_private_cidrs: readonly string[] }> {
  const { db } = context;
  const [orgId, ...cidrs] = words;
  if (orgId === undefined) return listGranted(db);
  if (cidrs.length > 0) {
    const granted = cidrs.length === 1 && cidrs[0] === "none" ? [] : readGrants(cidrs);
    const record = (transaction: Queries): Promise<void> =>
      recordOwnActs(
        transaction,
        { service: "operator", action: "organization.private_cidrs", resource: "organization" },
        [{ id: orgId, org_id: orgId }],
      );
    if (!(await setPrivateCidrs(context, { orgId, cidrs: granted }, record))) throw notFound(orgId);
    await makeLeaseDue(db, "vm-cleanup");
    await makeLeaseDue(db, "builder");
  }
  const allowed_private_cidrs = await privateCidrsOf(db, orgId);
  if (allowed_private_cidrs === undefined) throw notFound(orgId);
  return { allowed_private_cidrs };
}

function readGrants(words: readonly string[]): string[] {
  if (words.length > PRIVATE_CIDRS_MAX) {
    throw new SkerryError("bad_request", `An organization can be granted ${PRIVATE_CIDRS_MAX} networks.`);
  }
  return canonicalCidrs(words.map(readGrant).map(cidrOf));
}

function readGrant(word: string): string {
  const cidr = parseCidr(word);
  if (typeof cidr === "string") throw new SkerryError("invalid_cidr", `"${word}" ${cidr}.`);
  if (cidr.canonical.address !== cidr.address) {
    const network = formatCidr(cidr.canonical);
    throw new SkerryError(
      "invalid_cidr",
      `"${word}" has bits set after its prefix; the network is "${network}".`,
    );
  }
  const never = whyNever(cidr);
  if (never !== undefined) {
    throw new SkerryError(
      "egress_conflict",
      `"${word}" can never be reached from a sandbox: it is ${never}.`,
    );
  }
  if (!isPrivate(cidr)) {
    throw new SkerryError(
      "egress_conflict",
      `"${word}" is not within a private network (${privateNetworks.join(", ")}), so it needs no grant.`,
    );
  }
  return formatCidr(cidr);
}

function notFound(orgId: string): SkerryError {
  return new SkerryError("organization_not_found", `There is no organization "${orgId}".`);
}
