// Names of sandboxes and machines that find them.

export const vmNames = `
-- The name by which requests find the row; null where only its id does. A row that was written before this column keeps its name where no
-- other living one has the same, and no path takes the name for something else.
alter table sandboxes add column unique_name text;
alter table machines add column unique_name text;

with alone as (
  select min(id) as id from sandboxes
  where name is not null and status not in ('failed', 'destroyed')
  group by org_id, name having count(*) = 1
)
update sandboxes set unique_name = name from alone
where sandboxes.id = alone.id and name !~ '^(sbx|mch)_' and name not in ('.', '..');

with alone as (
  select min(id) as id from machines
  where name is not null and status <> 'destroyed' and not (status = 'failed' and started_at is null)
  group by org_id, name having count(*) = 1
)
update machines set unique_name = name from alone
where machines.id = alone.id and name !~ '^(sbx|mch)_' and name not in ('.', '..');

create unique index sandboxes_unique_name on sandboxes (org_id, unique_name)
  where unique_name is not null and status <> 'destroyed';
create unique index machines_unique_name on machines (org_id, unique_name)
  where unique_name is not null and status <> 'destroyed';
`;
