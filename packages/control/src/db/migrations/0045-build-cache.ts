// What steps of builds have left, so that the next build begins behind them.

export const buildCache = `
create table build_cache (
  -- Under which its host keeps the layers: as a template that is never frozen.
  id text primary key,
  org_id text not null references organizations (id),
  host_id text not null references hosts (id),
  -- Of the step and all before it.
  key text not null,
  kind text not null,
  name text not null,
  -- writing, ready, or deleting.
  status text not null,
  image jsonb not null default '{"layers": [], "disk_gib": 1}',
  -- Of its own layer.
  bytes bigint not null default 0,
  created_at timestamptz not null default now(),
  last_used_at timestamptz not null default now()
);
create index build_cache_by_key on build_cache (org_id, key) where status = 'ready';
create index build_cache_by_host on build_cache (host_id);
create index build_cache_by_org on build_cache (org_id, id desc);
alter table builds
  -- What its first steps came from, and what it would stand on without that; null: all steps are carried out.
  add column cache_id text,
  add column origin jsonb,
  -- Of what the first step begins on.
  add column parent_key text not null default '';
create index builds_of_cache on builds (cache_id)
  where cache_id is not null and status in ('queued', 'building', 'sealing', 'freezing');
alter table build_steps
  add column inputs jsonb not null default '[]',
  add column key text,
  add column cache_hit boolean not null default false,
  -- Of the layer that it has left.
  add column bytes bigint;
alter table templates add column key text;
create index templates_by_key on templates (org_id, key) where status = 'ready' and key is not null;
`;
