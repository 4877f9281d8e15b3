// What is free on hosts, and what an organization holds: what a VM that is to be placed depends on.

import { sql, type RawBuilder } from "kysely";
import type { Egress } from "@skerry/contract/vms/egress";
import { SkerryError } from "@skerry/contract/errors";
import type { BuiltInTemplate } from "@skerry/contract/templates/template";
import { LIMIT_MAX, type LimitName, type VmQuotaName } from "@skerry/contract/limits/quotas";
import type { Queries } from "../db/database.ts";
import { pipelined } from "../db/pipelined-begin.ts";
import { isOverdue } from "../hosts/host-rows.ts";
import type { EgressSettings } from "../organizations/egress-settings.ts";
import { prepared } from "../db/prepared.ts";

/** A host that may get VMs, and what is taken of it. */
export interface HostLoad {
  readonly id: string;
  readonly address: string;
  readonly cpus: number;
  readonly memory_mib: number;
  readonly templates: readonly BuiltInTemplate[];
  readonly used_memory_mib: number;
  readonly used_vcpus: number;
}

/** An organization and a host as they are while both are locked. */
export interface LockedCapacity {
  /** Undefined where the host may not get VMs any more. */
  readonly host: HostLoad | undefined;
  readonly held: Readonly<Record<VmQuotaName, number>>;
  readonly exceptions: Partial<Record<LimitName, number>>;
  readonly egress: EgressSettings;
}

/** All hosts that may get VMs. */
export async function availableHosts(db: Queries): Promise<HostLoad[]> {
  const { rows } = await sql<HostLoad>`
    select ${hostColumns} from hosts h cross join lateral (${taken(sql.ref("h.id"))}) taken
    where ${isAvailable}
    order by h.id ${prepared}`.execute(db);
  return rows;
}

/** Until the transaction ends no other transaction adds anything to the organization or to the host. What it writes need not be on the disk when it
 *  commits: its effect is reported only after a later commit, and that brings this one along. */
export async function lockCapacity(
  transaction: Queries,
  orgId: string,
  hostId: string,
): Promise<LockedCapacity> {
  // The organization first, everywhere: who locks in another order waits for each other.
  const locked = sql`${pipelined}
    with async_commit as (select set_config('synchronous_commit', 'off', true)),
    organization as materialized (select id from organizations where id = ${orgId} for no key update)
    select 1 from async_commit, organization, hosts where hosts.id = ${hostId} for no key update of hosts ${prepared}`;
  // A statement of its own, carried out after it: sums taken before the locks would miss what their holders before us wrote.
  const summed = sql<CapacityRow>`${pipelined}
    select o.egress_default, o.allowed_private_cidrs, held.*, h.*,
      (select json_object_agg(name, value) from organization_limits where org_id = o.id) as exceptions
    from organizations o
    cross join lateral (${heldBy(sql.ref("o.id"))}) held
    left join (
      select ${hostColumns} from hosts h cross join lateral (${taken(sql.ref("h.id"))}) taken
      where h.id = ${hostId} and ${isAvailable}
    ) h on true
    where o.id = ${orgId} and o.deleted_at is null ${prepared}`;
  const [, { rows }] = await Promise.all([locked.execute(transaction), summed.execute(transaction)]);
  const [row] = rows;
  // Deleted since the request was let in.
  if (row === undefined) throw new SkerryError("organization_not_found", "There is no such organization.");
  if (row.held_entries + (row.used_entries ?? 0) > ENTRIES_MAX)
    await balance(transaction, [orgId, persistentAccount(orgId), hostId]);
  return capacityOf(row);
}

/** Entries that are added up again and again before they are folded into one. */
const ENTRIES_MAX = 64;

/** What its persistent sandboxes take of a disk while they are paused. */
const persistentAccount = (orgId: string): string => `persistent:${orgId}`;

/** Entries that are added meanwhile are not seen here, and stay. Each entry is deleted once, and counts in the sum of the transaction that deleted it. */
async function balance(transaction: Queries, accounts: readonly string[]): Promise<void> {
  await sql`
    with balanced as (delete from capacity_entries where account = any(${accounts}::text[]) returning *)
    insert into capacity_entries
    select account, sum(sandboxes), sum(machines), sum(vcpus), sum(memory_mib), sum(disk_gib)
    from balanced group by account`.execute(transaction);
}

interface CapacityRow extends HeldRow, Omit<HostLoad, "id"> {
  readonly egress_default: Egress["mode"];
  readonly allowed_private_cidrs: readonly string[];
  readonly exceptions: Partial<Record<LimitName, number>> | null;
  readonly id: string | null;
  readonly used_entries: number | null;
}

function capacityOf(row: CapacityRow): LockedCapacity {
  const { id, address, cpus, memory_mib, templates, used_memory_mib, used_vcpus } = row;
  return {
    host: id === null ? undefined : { id, address, cpus, memory_mib, templates, used_memory_mib, used_vcpus },
    held: heldOf(row),
    exceptions: row.exceptions ?? {},
    egress: { defaultMode: row.egress_default, privateCidrs: row.allowed_private_cidrs },
  };
}

/** What an organization holds at this moment. */
export async function held(db: Queries, orgId: string): Promise<Readonly<Record<VmQuotaName, number>>> {
  const { rows } = await heldBy(sql.val(orgId)).execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error("a sum returned no row");
  return heldOf(row);
}

/** Its names are not those of a host's columns. */
interface HeldRow {
  readonly held_entries: number;
  readonly held_sandboxes: number;
  readonly held_machines: number;
  readonly held_vcpus: number;
  readonly held_memory_mib: number;
  readonly held_disk_gib: number;
  readonly held_persistent_disk_gib: number;
}

function heldOf(row: HeldRow): Record<VmQuotaName, number> {
  return {
    sandboxes: row.held_sandboxes,
    machines: row.held_machines,
    vcpus: row.held_vcpus,
    memory_mib: row.held_memory_mib,
    disk_gib: row.held_disk_gib,
    persistent_disk_gib: row.held_persistent_disk_gib,
  };
}

/** An organization without limits may hold more than an answer can say. */
const sumOf = (column: string, which = sql`true`) =>
  sql`least(coalesce(sum(${sql.ref(column)}) filter (where ${which}), 0), ${sql.lit(LIMIT_MAX)})::integer`;

function heldBy(orgId: RawBuilder<unknown>) {
  return sql<HeldRow>`
    select
      count(*)::integer as held_entries, ${sumOf("sandboxes")} as held_sandboxes, ${sumOf("machines")} as held_machines,
      ${sumOf("vcpus")} as held_vcpus, ${sumOf("memory_mib")} as held_memory_mib,
      ${sumOf("disk_gib", sql`account = ${orgId}`)} as held_disk_gib,
      ${sumOf("disk_gib", sql`account <> ${orgId}`)} as held_persistent_disk_gib
    from capacity_entries where account in (${orgId}, 'persistent:' || ${orgId})`;
}

/** VMs on their way to a host hold it too. */
function taken(hostId: RawBuilder<unknown>) {
  return sql`
    select count(*)::integer as entries, ${sumOf("vcpus")} as vcpus, ${sumOf("memory_mib")} as memory_mib
    from capacity_entries where account = ${hostId}`;
}

const hostColumns = sql`
  h.id, h.address, h.cpus, h.memory_mib, h.templates,
  taken.memory_mib as used_memory_mib, taken.vcpus as used_vcpus, taken.entries as used_entries`;

const isAvailable = sql`
  h.status = 'online' and h.desired = 'active' and not h.unsettled
  and not ${isOverdue("h")}`;
