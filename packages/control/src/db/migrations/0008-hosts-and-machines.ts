// Machines that keep running, hosts that come and go, and background services that run on one replica.

export const hostsAndMachines = `
-- Which replica runs a background service now, when it runs next, and how it went last. The token grows with each change of hands, so that one
-- that was slow cannot write any more.
create table leases (
  name text primary key,
  holder text not null,
  token bigint not null,
  expires_at timestamptz not null,
  due_at timestamptz not null,
  -- A request wants it to run again as soon as the run under way has ended.
  rung boolean not null default false,
  last_run_at timestamptz,
  last_run jsonb,
  -- Makes the token part of a key: a change of hands waits for the transactions that rely on it, and a renewal does not.
  unique (name, token)
);

alter table hosts
  -- What the operator wants; the status follows it.
  add column desired text not null default 'active' check (desired in ('active', 'drained')),
  add column version integer not null default 1,
  add column status_since timestamptz not null default now(),
  -- What a drain cannot go on without. Null: nothing.
  add column waits_for text,
  -- From the first to the last time that it was asked in vain since its last heartbeat. A host that no replica asked has not been silent.
  add column silent_since timestamptz,
  add column silent_until timestamptz,
  -- It is back, and which of its VMs still belong to their rows is not settled yet: what they hold is in no sum.
  add column unsettled boolean not null default false;

-- Its host was taken for dead. Should the host come back with its VM, it has not failed after all.
alter table sandboxes add column host_lost boolean not null default false;

create table machines (
  id text primary key,
  org_id text not null references organizations (id),
  name text,
  template text not null,
  size text not null,
  vcpus integer not null,
  memory_mib integer not null,
  disk_gib integer not null,
  status text not null,
  desired text not null default 'running' check (desired in ('running', 'stopped')),
  -- A restart that a client asked for, until the machine runs again.
  restart_wished boolean not null default false,
  version integer not null default 1,
  -- The incarnation: a new one with each start.
  execution_id text not null,
  -- Where it runs, or where its disk is.
  host_id text not null references hosts (id),
  env jsonb not null,
  metadata jsonb not null,
  egress jsonb not null,
  egress_version integer not null default 1,
  egress_applied integer not null default 0,
  -- Of its main process. Null: the machine has none.
  command text,
  stop_timeout_ms integer not null,
  restart_policy text not null check (restart_policy in ('no', 'on-failure', 'always')),
  -- Null: without end.
  restart_max_retries integer,
  -- All of its restarts, and those since it last ran well for long enough.
  restarts integer not null default 0,
  retries integer not null default 0,
  -- Of the main process, when it last ended.
  exit_code integer,
  host_lost boolean not null default false,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  stopped_at timestamptz,
  destroyed_at timestamptz,
  reason text,
  claimed_until timestamptz,
  attempts integer not null default 0,
  retry_at timestamptz not null default now()
);
create index machines_by_org on machines (org_id, id desc);
create index machines_by_metadata on machines using gin (metadata jsonb_path_ops);
create index machines_load on machines (host_id, status) include (vcpus, memory_mib) where status <> 'destroyed';
create index machines_by_status on machines (org_id, status) where status <> 'destroyed';
create index machines_held_by_org on machines (org_id) include (status, vcpus, memory_mib, disk_gib, started_at)
where status <> 'destroyed';
create index machines_with_egress_due on machines (id) where status = 'running' and egress_applied <> egress_version;

-- Machines that wait for their next start.
create table restarts (
  machine_id text primary key references machines (id) on delete cascade,
  due_at timestamptz not null,
  queued_at timestamptz not null default now()
);
create index restarts_by_due on restarts (due_at);
`;
