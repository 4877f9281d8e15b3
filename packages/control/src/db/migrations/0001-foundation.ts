// Organizations and their tokens, hosts, sandboxes. Every resource belongs to an organization from the start.

export const foundation = `
create table users (
  id text primary key,
  name text not null,
  created_at timestamptz not null default now()
);

create table organizations (
  id text primary key,
  name text not null,
  created_at timestamptz not null default now()
);

create table memberships (
  org_id text not null references organizations (id),
  user_id text not null references users (id),
  created_at timestamptz not null default now(),
  primary key (user_id, org_id)
);

-- Only the SHA-256 of a token is stored: a reader of this table cannot call the API.
create table api_tokens (
  id text primary key,
  org_id text not null references organizations (id),
  user_id text not null references users (id),
  name text not null,
  secret_sha256 bytea not null unique,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index api_tokens_by_org on api_tokens (org_id, id desc) where revoked_at is null;

-- Facts that heartbeats write. A host is known by its name; its id is ours.
create table hosts (
  id text primary key,
  name text not null unique,
  address text not null,
  status text not null check (status in ('online', 'offline', 'draining', 'maintenance')),
  cpus integer not null,
  memory_mib integer not null,
  templates jsonb not null,
  facts jsonb not null,
  created_at timestamptz not null default now(),
  last_heartbeat timestamptz not null
);

create table sandboxes (
  id text primary key,
  org_id text not null references organizations (id),
  name text,
  template text not null,
  mode text not null,
  size text not null,
  vcpus integer not null,
  memory_mib integer not null,
  status text not null,
  -- Counts the changes of status; each change names the version that it was decided about.
  version integer not null default 1,
  -- Names this life of the VM, so that a late call never hits a later one.
  execution_id text not null,
  host_id text not null references hosts (id),
  env jsonb not null,
  metadata jsonb not null,
  egress jsonb not null,
  timeout_ms integer not null,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  expires_at timestamptz not null,
  destroyed_at timestamptz,
  reason text,
  -- While a request is creating the sandbox it extends this lease; a lapsed one means that the request is dead.
  claimed_until timestamptz,
  -- A destruction that failed is tried again later and later, so that a stuck sandbox does not hide the others.
  attempts integer not null default 0,
  retry_at timestamptz not null default now()
);
create index sandboxes_by_org on sandboxes (org_id, id desc);
create index sandboxes_by_metadata on sandboxes using gin (metadata jsonb_path_ops);
create index sandboxes_on_host on sandboxes (host_id, status) where status <> 'destroyed';
create index sandboxes_by_expiry on sandboxes (expires_at) where status <> 'destroyed';
`;
