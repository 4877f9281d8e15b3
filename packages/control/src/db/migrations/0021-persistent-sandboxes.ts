// Sandboxes that are paused when their time is over.

export const persistentSandboxes = `
-- Since when it is paused; null where it is not. One that is being resumed is paused until it runs.
alter table sandboxes add column paused_at timestamptz;
create index sandboxes_paused on sandboxes (paused_at) where status = 'paused';
create index sandboxes_to_pause on sandboxes (expires_at) where status = 'running' and mode = 'persistent';

-- As before, and one account more: what an organization's persistent sandboxes take of a disk when they are paused, in disk_gib. It is held from the
-- creation on. No row has this mode yet, so there is nothing to begin with.
create or replace function room_entries_of(vm sandboxes, sign bigint) returns setof room_entry language sql immutable as $$
  select vm.org_id, sign, 0::bigint, sign * vm.vcpus * on_host, sign * vm.memory_mib * on_host, sign * vm.disk_gib
  from (select (vm.status in ('creating', 'running', 'pausing', 'resuming', 'destroying'))::integer as on_host) vm_is
  where vm.status not in ('failed', 'destroyed')
  union all
  select vm.host_id, 0, 0, sign * vm.vcpus, sign * vm.memory_mib, 0
  where vm.status in ('creating', 'running', 'pausing', 'resuming', 'destroying')
  union all
  select 'persistent:' || vm.org_id, 0, 0, 0, 0, sign * (vm.disk_gib + ceil(vm.memory_mib / 1024.0)::bigint)
  where vm.mode = 'persistent' and vm.status not in ('failed', 'destroyed')
$$;
`;
