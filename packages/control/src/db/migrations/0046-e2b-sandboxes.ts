// What E2B's clients ask of a sandbox beside what ours do, and who may sign URLs of its files.

export const e2bSandboxes = `
alter table sandboxes
  -- What the pause at its timeout keeps: its memory and its disk, or its disk alone.
  add column keeps_memory boolean not null default true,
  -- It was paused without its memory, so it boots from its disk.
  add column reboots boolean not null default false,
  -- See PortOptions.
  add column port_options jsonb not null default '{}';
create table e2b_accesses (
  sandbox_id text not null references sandboxes (id) on delete cascade,
  -- Of the token whose access token for this sandbox was given away.
  secret_sha256 text not null,
  org_id text not null references organizations (id),
  noted_at timestamptz not null default now(),
  primary key (sandbox_id, secret_sha256)
);
create index e2b_accesses_by_org on e2b_accesses (org_id, noted_at);
create index e2b_accesses_by_time on e2b_accesses (noted_at);
`;
