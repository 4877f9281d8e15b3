// An egress policy as the host of its VM gets it: with the private networks that the organization was
// granted, and the secrets that requests get on their way.

import type { Egress, HostEgress } from "@skerry/contract/vms/egress";
import type { Injection, InjectRule } from "@skerry/contract/vms/inject";
import { INJECTED_BYTES } from "@skerry/contract/vms/inject-format";
import type { Context } from "../context.ts";
import { grantedEgress } from "../organizations/private-cidrs.ts";
import { ofOrganization, openSecrets } from "./secrets.ts";

interface Governed {
  readonly id: string;
  readonly org_id: string;
  readonly egress: Egress;
}

/**
 * The grants and the secrets are read after the row: a change of them raises the row's version in the same
 * transaction, so a version is never told with older ones than its own. Throws `secrets_unavailable` or
 * `secret_damaged`.
 */
export async function hostEgress(
  context: Pick<Context, "db" | "sealing">,
  { id, org_id, egress }: Governed,
): Promise<HostEgress> {
  const granted = await grantedEgress(context.db, { org_id, egress });
  if (egress.inject === undefined) return granted;
  return { ...granted, injection: await injectionOf(context, { id, org_id, rules: egress.inject }) };
}

/**
 * The same for every start of a VM and on every host, so that its guest goes on trusting the authority that
 * it knows.
 */
async function injectionOf(
  context: Pick<Context, "db" | "sealing">,
  { id, org_id, rules }: { id: string; org_id: string; rules: readonly InjectRule[] },
): Promise<Injection> {
  const names = [...new Set(rules.map(({ secret }) => secret))];
  const opened = await openSecrets(context, [ofOrganization({ orgId: org_id })], names);
  // Others are refused like one that is not there.
  const fitting = [...opened].filter(([, { value }]) => {
    const bytes = Buffer.byteLength(value);
    return bytes >= INJECTED_BYTES.min && bytes <= INJECTED_BYTES.max;
  });
  const values = Object.fromEntries(fitting.map(([name, { value }]) => [name, value]));
  // Without a data key nothing was ever sealed, and so there is nothing to inject.
  const seed = await context.sealing.derive(context.db, org_id, `egress authority of ${id}`);
  return { vm: id, seed, values };
}
