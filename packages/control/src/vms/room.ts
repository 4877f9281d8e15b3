import { sql } from "kysely";
import type { Manifest } from "../manifest.ts";
import { eraseLeftEnv } from "./env.ts";
import { injectionAuditor } from "./injection-audit.ts";

declare module "../context.ts" {
  interface Services {
    "injection-auditor": true;
  }
}

export const vmsRoom = {
  ownActs: ["secret.inject"],
  services: [{ name: "injection-auditor", everyMs: 60_000, make: injectionAuditor }],
  sweeps: { eraseLeftEnv },
  /**
   * Raises the version of every policy that the grants may bear on: hosts are told again. A VM that is being
   * started, or whose host is lost, has its policy brought to it once it runs.
   */
  async onPrivateCidrs(transaction, { orgId }) {
    await sql`
      update vms set egress_version = egress_version + 1, attempts = 0, retry_at = now()
      where org_id = ${orgId} and status not in ('destroying', 'destroyed')
        and jsonb_array_length(egress -> 'allow_cidrs') > 0`.execute(transaction);
  },
  /**
   * Raises the version of every policy that sends the secret on its way: hosts are told again, with its value
   * of now.
   */
  async onSecretChanged(transaction, { orgId, name }) {
    const rules = JSON.stringify({ inject: [{ secret: name }] });
    await sql`
      update vms set egress_version = egress_version + 1, attempts = 0, retry_at = now()
      where org_id = ${orgId} and status not in ('destroying', 'destroyed')
        and egress @> ${rules}::jsonb`.execute(transaction);
  },
  async endOnRemovedHosts(db) {
    const { numAffectedRows } = await sql`
      update vms set status = 'destroyed', version = version + 1, destroyed_at = now()
      where status = 'destroying' and host_id in (select id from hosts where removed_at is not null)`.execute(
      db,
    );
    return Number(numAffectedRows ?? 0);
  },
} satisfies Manifest;
