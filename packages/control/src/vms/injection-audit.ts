// Secrets that requests of VMs got on their way, in the audit log of the organization: at most one event a
// minute for each VM, secret and host. Hosts count them; a host is asked each minute, and before a VM leaves
// it.

import { sql } from "kysely";
import { SkerryError } from "@skerry/contract/errors";
import type { EgressInjection } from "@skerry/contract/vms/egress";
import { recordOwnActs } from "../audit/audit-log.ts";
import { reportOf, type BackgroundService } from "../background/background-service.ts";
import type { Context } from "../context.ts";
import type { Database } from "../db/database.ts";
import type { HostClient } from "../host-client/host-client.ts";
import type { VmRef } from "../host-client/vm-ref.ts";

const SERVICE = "injection-auditor";
export function injectionAuditor(context: Context, everyMs: number): BackgroundService {
  return {
    name: SERVICE,
    everyMs,
    async activate(stop) {
      const { rows } = await sql<OnHost>`
        select vms.id, execution_id, address from vms join hosts on hosts.id = host_id
        where vms.status = 'running' and egress ? 'inject' and not host_lost`.execute(context.db);
      const byAddress = Map.groupBy(rows, ({ address }) => address);
      const looks = await Promise.all(
        [...byAddress].map(([address, vms]) =>
          lookAt({ db: context.db, client: context.hosts.client(address), vms, stop }),
        ),
      );
      return reportOf(looks.flat(), { examined: rows.length, more: false });
    },
  };
}

interface OnHost extends VmRef {
  readonly address: string;
}

/**
 * One VM after the other, so that a host has other work beside. One that does not answer is asked in its next
 * turn.
 */
async function lookAt({
  db,
  client,
  vms,
  stop,
}: {
  readonly db: Database;
  readonly client: HostClient;
  readonly vms: readonly VmRef[];
  readonly stop: AbortSignal;
}): Promise<PromiseSettledResult<void>[]> {
  const looks: PromiseSettledResult<void>[] = [];
  for (const vm of vms) {
    const [look] = await Promise.allSettled([keepCounts(db, client, { vm, stop })]);
    looks.push(look);
    if (stop.aborted || (look.status === "rejected" && isAway(look.reason))) break;
  }
  return looks;
}

function isAway(reason: unknown): boolean {
  return reason instanceof SkerryError && reason.code === "host_unavailable";
}

/** Looks once more before the host forgets the counts. A host that does not answer is no reason to keep the
 * VM.
 */
export async function auditBeforeEnd(
  { db, log }: Pick<Context, "db" | "log">,
  client: Pick<HostClient, "egress">,
  vm: VmRef,
): Promise<void> {
  try {
    const { rows } = await sql`
      select 1 from vms where id = ${vm.id} and execution_id = ${vm.execution_id} and egress ? 'inject'`.execute(
      db,
    );
    if (rows.length > 0) await keepCounts(db, client, { vm });
  } catch (error) {
    log.warn({ err: error, vm_id: vm.id }, "the last secrets of a VM's requests are not in the audit log");
  }
}

async function keepCounts(
  db: Database,
  client: Pick<HostClient, "egress">,
  { vm, stop }: { readonly vm: VmRef; readonly stop?: AbortSignal },
): Promise<void> {
  const { injected = [] } = await client.egress(vm, stop);
  if (injected.length === 0) return;
  await db.transaction().execute(async (transaction) => {
    const { rows } = await sql<{ org_id: string }>`
      select org_id from vms where id = ${vm.id} and execution_id = ${vm.execution_id} for update`.execute(
      transaction,
    );
    const [row] = rows;
    if (row === undefined) return;
    // A statement after the lock: one that waits for a lock still reads other tables as they were before it.
    const { rows: kept } = await sql<{ counts: Counts }>`
      select counts from injected_counts where vm_id = ${vm.id} and execution_id = ${vm.execution_id}`.execute(
      transaction,
    );
    const counted = kept[0]?.counts ?? {};
    const more = injected
      .map((one) => ({ ...one, count: sinceThen(one, counted) }))
      .filter(({ count }) => count > 0);
    if (more.length === 0) return;
    const counts: Counts = Object.fromEntries(injected.map((one) => [keyOf(one), one.count]));
    await sql`
      insert into injected_counts values (${vm.id}, ${vm.execution_id}, ${JSON.stringify(counts)})
      on conflict (vm_id) do update set execution_id = excluded.execution_id, counts = excluded.counts`.execute(
      transaction,
    );
    await recordOwnActs(
      transaction,
      { service: SERVICE, action: "secret.inject", resource: "secret" },
      more.map(({ secret, host, count }) => ({
        ...{ id: secret, org_id: row.org_id, count, detail: `to ${host} by ${vm.id}` },
      })),
    );
  });
}

type Counts = Readonly<Record<string, number>>;

/** A smaller count than before is one of a name proxy that began anew. */
function sinceThen(one: EgressInjection, before: Counts): number {
  const known = before[keyOf(one)] ?? 0;
  return one.count < known ? one.count : one.count - known;
}

function keyOf({ secret, host }: Pick<EgressInjection, "secret" | "host">): string {
  return `${secret} ${host}`;
}
