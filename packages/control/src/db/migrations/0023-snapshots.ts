// Snapshots of sandboxes.

export const snapshots = `
create table snapshots (
  id text primary key,
  org_id text not null references organizations (id),
  name text,
  -- What it was taken of, and of which of its lives.
  vm_id text not null,
  execution_id text not null,
  parent_id text,
  template text not null,
  size text not null,
  disk_gib integer not null,
  host_id text not null references hosts (id),
  status text not null,
  version integer not null default 1,
  -- Of a fork that is being made: nobody is shown it, and it goes with the fork.
  is_internal boolean not null default false,
  memory_bytes bigint,
  disk_bytes bigint,
  runs_on jsonb,
  reason text,
  created_at timestamptz not null default now(),
  deleted_at timestamptz,
  claimed_until timestamptz,
  attempts integer not null default 0,
  retry_at timestamptz not null default now()
);
create unique index snapshots_unique_name on snapshots (org_id, name)
  where name is not null and status not in ('failed', 'deleted');
create index snapshots_by_org on snapshots (org_id, id desc) where status <> 'deleted' and not is_internal;
create index snapshots_on_host on snapshots (host_id) where status <> 'deleted';

-- The snapshot that a sandbox comes from, or that was taken of it last.
alter table sandboxes add column snapshot_id text;
-- The internal snapshot of the fork that made it.
alter table sandboxes add column forked_by text;
create index sandboxes_by_fork on sandboxes (forked_by) where forked_by is not null;
`;
