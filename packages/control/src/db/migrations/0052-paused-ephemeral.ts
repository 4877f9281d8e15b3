// Ephemeral sandboxes that E2B's clients pause take room on a disk as persistent ones do.

export const pausedEphemeral = `
-- Writers are kept out until the sums below are there: otherwise what is paused now would be taken off when it leaves, and never have been added.
lock table sandboxes in share row exclusive mode;

-- As before; the account of persistent sandboxes also has what is paused without being one. A sandbox that is being resumed is paused until it runs.
create or replace function room_entries_of(vm sandboxes, sign bigint) returns setof room_entry language sql immutable as $$
  select vm.org_id, sign, 0::bigint, sign * vm.vcpus * on_host, sign * vm.memory_mib * on_host, sign * vm.disk_gib
  from (select (vm.status in ('creating', 'running', 'pausing', 'resuming', 'destroying'))::integer as on_host) vm_is
  where vm.status not in ('failed', 'destroyed')
  union all
  select vm.host_id, 0, 0, sign * vm.vcpus, sign * vm.memory_mib, 0
  where vm.status in ('creating', 'running', 'pausing', 'resuming', 'destroying')
  union all
  select 'persistent:' || vm.org_id, 0, 0, 0, 0, sign * (vm.disk_gib + ceil(vm.memory_mib / 1024.0)::bigint)
  where (vm.mode = 'persistent' or vm.status = 'pausing' or vm.paused_at is not null) and vm.status not in ('failed', 'destroyed')
$$;

insert into room_entries
select 'persistent:' || org_id, 0, 0, 0, 0, sum(disk_gib + ceil(memory_mib / 1024.0)::bigint)
from sandboxes
where mode <> 'persistent' and (status = 'pausing' or paused_at is not null) and status not in ('failed', 'destroyed')
group by org_id;
`;
