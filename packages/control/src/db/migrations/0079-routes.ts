// Routes of apps, beside the one of each app's own address.

export const routes = `
create table routes (
  id text primary key,
  app_id text not null references apps (id) on delete cascade,
  -- Labels before the app's own name; empty: none.
  subdomain text not null,
  -- Begins and ends with a slash.
  path_prefix text not null,
  group_name text not null,
  strip_prefix boolean not null,
  sticky boolean not null,
  rate_limit integer,
  concurrency integer,
  created_at timestamptz not null default now(),
  unique (app_id, subdomain, path_prefix)
);
`;
