// What a host takes with it when it is not heard of any more, or is none any more.

import { markOffline, type Loss } from "./host-offline-store.ts";
import { operatorOrganization } from "../organizations/operator-organization.ts";
import type { Queries } from "../db/database.ts";
import { recordOwnActs } from "../audit/audit-service.ts";

/** Marks silent hosts offline, fails what ran on all that are, and writes it into the audit log of whom it belongs to. */
export async function failLost(transaction: Queries, service: string): Promise<Loss[]> {
  const found = await markOffline(transaction);
  const operator = found.length === 0 ? undefined : await operatorOrganization(transaction);
  for (const [kind, action] of acts) {
    const rows = found
      .filter((loss) => loss.kind === kind)
      .flatMap(({ id, org_id }) => {
        const owner = org_id ?? operator;
        return owner === undefined ? [] : [{ id, org_id: owner }];
      });
    await recordOwnActs(transaction, { service, action, resource: kind }, rows);
  }
  return found;
}

const acts = [
  ["host", "host.offline"],
  ["sandbox", "sandbox.fail"],
  ["machine", "machine.end"],
] as const;
