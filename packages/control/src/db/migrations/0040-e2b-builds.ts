// What E2B's clients send before a build begins.

export const e2bBuilds = `
create table e2b_builds (
  id text primary key,
  org_id text not null references organizations (id),
  name text not null,
  tags jsonb not null,
  size text,
  -- Its steps, once they have come.
  body jsonb,
  -- Why it was not begun.
  fault jsonb,
  created_at timestamptz not null default now()
);
create index e2b_builds_by_time on e2b_builds (created_at);
create table e2b_archive_chunks (
  upload text not null,
  org_id text not null references organizations (id),
  index integer not null,
  content bytea not null,
  created_at timestamptz not null default now(),
  primary key (upload, index)
);
create index e2b_archive_chunks_by_org on e2b_archive_chunks (org_id);
create index e2b_archive_chunks_by_time on e2b_archive_chunks (created_at);
create table e2b_archives (
  org_id text not null references organizations (id),
  hash text not null,
  upload text not null,
  created_at timestamptz not null default now(),
  primary key (org_id, hash)
);
`;
