// VMs on their way from one host to another.

export const moves = `
create table moves (
  id text primary key,
  -- A sandbox or a machine; its row decides where it is.
  vm_id text not null,
  from_host_id text not null references hosts (id),
  to_host_id text not null references hosts (id),
  -- The VM at its source, and the VM that it becomes at its target.
  from_execution_id text not null,
  to_execution_id text not null,
  -- What the source shows to the target. Good for this move alone, and for nothing once it has ended.
  ticket text not null,
  vcpus integer not null,
  memory_mib integer not null,
  status text not null,
  version integer not null default 1,
  reason text,
  created_at timestamptz not null default now(),
  status_since timestamptz not null default now(),
  attempts integer not null default 0,
  retry_at timestamptz not null default now()
);
create unique index moves_under_way on moves (vm_id) where status in ('preparing', 'sending', 'resuming', 'canceling');
create index moves_on_target on moves (to_host_id) include (vcpus, memory_mib)
where status in ('preparing', 'sending', 'canceling');
create index moves_from_source on moves (from_host_id) where status in ('preparing', 'sending', 'resuming', 'canceling');
create index moves_by_vm on moves (vm_id, status_since);
create index moves_by_age on moves (status_since) where status in ('done', 'canceled', 'failed');
`;
