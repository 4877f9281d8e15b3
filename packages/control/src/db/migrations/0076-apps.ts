// Apps, their releases, deploys and instances.

export const apps = `
create table apps (
  id text primary key,
  org_id text not null references organizations (id),
  name text not null,
  status text not null,
  -- Of the address under which it is served; null where another app has the name.
  label text unique,
  scale jsonb not null,
  -- The number of the release that is live, and of the next one.
  live integer,
  next_release integer not null default 1,
  -- Instances that ended by themselves in a row, and when the next one may start.
  crashes integer not null default 0,
  start_after timestamptz not null default now(),
  created_at timestamptz not null default now(),
  unique (org_id, name)
);
create table releases (
  app_id text not null references apps (id) on delete cascade,
  number integer not null,
  template text not null,
  env jsonb not null,
  secrets jsonb not null,
  manifest jsonb not null,
  created_by text,
  created_at timestamptz not null default now(),
  primary key (app_id, number)
);
create table deploys (
  id text primary key,
  app_id text not null references apps (id) on delete cascade,
  org_id text not null,
  release integer not null,
  status text not null,
  version integer not null default 1,
  reason jsonb,
  created_by text,
  created_at timestamptz not null default now(),
  ends_by timestamptz not null,
  finished_at timestamptz
);
create index deploys_of_app on deploys (app_id, id desc);
create table app_instances (
  machine_id text primary key,
  app_id text not null references apps (id) on delete cascade,
  release integer not null,
  group_name text not null,
  number integer not null,
  state text not null,
  -- The end of a draining one, with what it still has to do.
  drains_until timestamptz,
  serving_since timestamptz,
  created_at timestamptz not null default now()
);
create index instances_of_app on app_instances (app_id);
`;
