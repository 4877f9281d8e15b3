// What VMs hold, kept as an account, so that a new one is not the slower the more there are.

const noted = (table: string, columns: string) => `
create function note_${table}() returns trigger language plpgsql as $$
declare
  before ${table} := old;
  after ${table} := new;
begin
  insert into room_entries
  select account, sum(sandboxes), sum(machines), sum(vcpus), sum(memory_mib), sum(disk_gib)
  from (select * from room_entries_of(after, 1) union all select * from room_entries_of(before, -1)) change
  group by account
  having (sum(sandboxes), sum(machines), sum(vcpus), sum(memory_mib), sum(disk_gib)) <> (0, 0, 0, 0, 0);
  return null;
end $$;
create trigger ${table}_noted after insert or delete or update of ${columns} on ${table}
for each row execute function note_${table}();
`;

export const roomEntries = `
-- The sum of an account's entries is what its VMs hold. Each change of a VM's row adds, in the same transaction, by how much that changes, so a
-- snapshot in which the change is seen has the entry too. No transaction updates a sum, so none waits for another one's commit.
create type room_entry as (
  -- An organization (vCPUs and memory of what runs, disk of what exists) or a host (vCPUs and memory of what runs there or is on its way).
  account text,
  sandboxes bigint,
  machines bigint,
  vcpus bigint,
  memory_mib bigint,
  disk_gib bigint
);
create table room_entries (like room_entry);
create index room_entries_by_account on room_entries (account);

-- What one row holds, and nothing of a row that is not there. A new status of the contract that holds anything changes these too.
create function room_entries_of(vm sandboxes, sign bigint) returns setof room_entry language sql immutable as $$
  select vm.org_id, sign, 0::bigint, sign * vm.vcpus * on_host, sign * vm.memory_mib * on_host, sign * vm.disk_gib
  from (select (vm.status in ('creating', 'running', 'pausing', 'resuming', 'destroying'))::integer as on_host) vm_is
  where vm.status not in ('failed', 'destroyed')
  union all
  select vm.host_id, 0, 0, sign * vm.vcpus, sign * vm.memory_mib, 0
  where vm.status in ('creating', 'running', 'pausing', 'resuming', 'destroying')
$$;
create function room_entries_of(vm machines, sign bigint) returns setof room_entry language sql immutable as $$
  select vm.org_id, 0::bigint, sign, sign * vm.vcpus * on_host, sign * vm.memory_mib * on_host, sign * vm.disk_gib
  from (select (vm.status in ('creating', 'running', 'stopping', 'starting', 'destroying'))::integer as on_host) vm_is
  -- Nothing exists of a machine that never ran.
  where vm.status <> 'destroyed' and not (vm.status in ('failed', 'stopped') and vm.started_at is null)
  union all
  select vm.host_id, 0, 0, sign * vm.vcpus, sign * vm.memory_mib, 0
  where vm.status in ('creating', 'running', 'stopping', 'starting', 'destroying')
$$;
create function room_entries_of(move moves, sign bigint) returns setof room_entry language sql immutable as $$
  select move.to_host_id, 0::bigint, 0::bigint, sign * move.vcpus, sign * move.memory_mib, 0::bigint
  where move.status in ('preparing', 'sending', 'canceling')
$$;
${noted("sandboxes", "status, org_id, host_id, vcpus, memory_mib, disk_gib")}
${noted("machines", "status, org_id, host_id, vcpus, memory_mib, disk_gib, started_at")}
${noted("moves", "status, to_host_id, vcpus, memory_mib")}
-- From here on no row changes without its entry, because a trigger is made under a lock that keeps writers out until this commits.
insert into room_entries
select account, sum(sandboxes), sum(machines), sum(vcpus), sum(memory_mib), sum(disk_gib)
from (
  select entry.* from sandboxes, room_entries_of(sandboxes, 1) entry
  union all
  select entry.* from machines, room_entries_of(machines, 1) entry
  union all
  select entry.* from moves, room_entries_of(moves, 1) entry
) held group by account;
`;
