// How much an organization may do, and how much of it is taken.

export const limits = `
-- Where an organization differs from the installation's settings.
create table organization_limits (
  org_id text not null references organizations (id) on delete cascade,
  name text not null,
  value integer not null check (value >= 0),
  primary key (org_id, name)
);

-- The tickets of each token. Unlogged: a crash of PostgreSQL fills every bucket, and in return a ticket costs no write to the log.
create unlogged table rate_buckets (
  token_id text not null,
  class text not null,
  available double precision not null,
  -- What the last one who asked was given.
  granted integer not null,
  refilled_at timestamptz not null,
  primary key (token_id, class)
) with (fillfactor = 50);

-- Until now the disk of a sandbox was not counted; what its template says is what it was given.
alter table sandboxes add column disk_gib integer not null default 0;
update sandboxes s set disk_gib = coalesce((
  select (t ->> 'disk_gib')::integer
  from hosts h, jsonb_array_elements(h.templates) t
  where h.id = s.host_id and t ->> 'name' = s.template
  limit 1
), 0)
where status not in ('failed', 'destroyed');

-- What counts against a quota, without the history of the organization.
create index sandboxes_held_by_org on sandboxes (org_id) include (status, vcpus, memory_mib, disk_gib)
where status not in ('failed', 'destroyed');
`;
