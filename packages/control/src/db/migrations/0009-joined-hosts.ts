// Hosts on other machines: the authority that certifies them, and the tokens by which they come.

export const joinedHosts = `
-- One row. A reader of it can pass for control at every host: its key is as secret as all else in this database together.
create table authority (
  id boolean primary key default true check (id),
  certificate text not null,
  private_key text not null,
  created_at timestamptz not null default now()
);

create table join_tokens (
  id text primary key,
  secret_sha256 bytea not null,
  org_id text not null references organizations (id),
  created_by text not null references users (id),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- The host that it was used for. Null: it has not been.
  host_id text references hosts (id)
);

alter table hosts
  -- SHA-256 of the public key that was certified last. Null: none was.
  add column key_sha256 bytea,
  add column certificate_expires_at timestamptz,
  -- It came by a join, and is asked at its address; the host beside control finds its row by its name.
  add column joined boolean not null default false,
  -- It is none of ours any more. The row stays for what it had.
  add column removed_at timestamptz;
create unique index hosts_by_key on hosts (key_sha256) where removed_at is null;
`;
