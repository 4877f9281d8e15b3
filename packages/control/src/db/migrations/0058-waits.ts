// The causes of delays, and when they began. A build's timeout begins with its first step.

const statusNoted = (table: string) => `
-- Rows from before have the time of this migration.
alter table ${table} add column status_since timestamptz not null default now();
create trigger ${table}_status_noted before update of status on ${table} for each row
  when (old.status is distinct from new.status) execute function note_status();
`;

export const waits = `
-- See StoredWait. Null where nothing is waited for.
alter table builds add column waits_for jsonb;
-- Its timeout, until that begins. Null once it has begun, and in rows from before.
alter table builds add column pending_timeout_ms bigint;
-- Why the start that is due was refused when it was tried last.
alter table restarts add column waits_for jsonb;
create function note_status() returns trigger language plpgsql as $$
begin
  new.status_since := now();
  return new;
end $$;
${statusNoted("sandboxes")}
${statusNoted("machines")}
`;
