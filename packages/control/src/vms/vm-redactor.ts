// Secrets of a microVM in what it prints: each line of its log and all output that is kept of it passes here.

import { sql } from "kysely";
import type { ShownSecret } from "@skerry/contract/vms/secrets";
import type { Context } from "../context.ts";
import type { Redactor } from "@skerry/contract/secrets/redactor";
import { ofOrganization, redactorOf } from "../secrets/secrets.ts";

interface VmWithSecrets {
  readonly org_id: string;
  readonly secrets: readonly ShownSecret[] | null;
}

export function redactorOfVm(context: Context, { org_id, secrets }: VmWithSecrets): Promise<Redactor> {
  const names = (secrets ?? []).map(({ name }) => name);
  return redactorOf(context, ofOrganization({ orgId: org_id }), names);
}

/** The same of a VM whose row is not at hand. */
export async function redactorOfVmId(context: Context, id: string): Promise<Redactor> {
  const { rows } = await sql<VmWithSecrets>`
    select org_id, secrets from vms where id = ${id}`.execute(context.db);
  return redactorOfVm(context, rows[0] ?? { org_id: "", secrets: null });
}
