// What is sealed, and by which keys; credentials of registries are the first of it.

export const sealing = `
-- The database knows the ids of root keys alone; the newest one seals.
create table root_keys (
  id text primary key,
  number bigint not null unique generated always as identity,
  created_at timestamptz not null default now()
);
create table data_keys (
  -- An organization.
  owner text primary key,
  -- So that none is sealed by a key that was retired.
  root_key text not null references root_keys (id),
  wrapped bytea not null,
  created_at timestamptz not null default now()
);
create table registry_credentials (
  org_id text not null references organizations (id),
  host text not null,
  version integer not null,
  username text not null,
  sealed_password bytea not null,
  set_by text,
  set_at timestamptz not null default now(),
  primary key (org_id, host)
);
-- Exactly one of the two is there.
alter table authority alter column private_key drop not null;
alter table authority add column sealed_key bytea;
-- The image that a build pulled, with its digest.
alter table builds add column source jsonb;
alter table templates add column source jsonb;
`;
