// The cluster's authority can be changed for another one while its hosts go on.

export const authorityRotation = `
-- One row for each authority that hosts trust, instead of one row. "next" is trusted and signs nothing yet, "current" signs, "previous" is
-- trusted for what it has signed. One that is trusted no more has no row: nobody needs its key.
alter table authority drop column id;
alter table authority
  add column number integer generated always as identity primary key,
  add column status text not null default 'current' check (status in ('next', 'current', 'previous')),
  add column status_since timestamptz not null default now(),
  -- The change goes on without hosts that are offline.
  add column leave_offline boolean not null default false;
create unique index authority_by_status on authority (status);

alter table hosts
  -- Which authority has signed its certificate, and which ones it was told to trust.
  add column certified_by integer,
  add column trusts integer[] not null default '{}';
update hosts set certified_by = number, trusts = array[number] from authority where certificate_expires_at is not null;

-- Which authority a machine that joins with the token is to look for. Null: the token is from before.
alter table join_tokens add column authority integer;
`;
