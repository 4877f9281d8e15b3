// What an organization keeps of what is over is bounded: indexes by which that is counted, and what goes with a row that is forgotten.

/** As in 0025-vm-events.ts; and of a VM that is destroyed fewer, because thousands of those are kept. */
const kept = { events: 500, denied: 100, ofEnded: 30 };

/** Nothing finds the log of a VM without its row. */
const forgotten = (table: string) => `
create trigger ${table}_forgotten after delete on ${table} for each row execute function forget_vm_events();
`;

export const boundedRows = `
create index e2b_builds_by_org on e2b_builds (org_id, created_at);
create index sandboxes_destroyed on sandboxes (org_id, destroyed_at) where status = 'destroyed';
create index sandboxes_failed on sandboxes (org_id, id) where status = 'failed';
create index machines_destroyed on machines (org_id, destroyed_at) where status = 'destroyed';
create index snapshots_ended on snapshots (org_id) where status in ('failed', 'deleted');
create index templates_deleted on templates (org_id) where status = 'deleted';
create index api_tokens_revoked on api_tokens (org_id) where revoked_at is not null;

-- A token ends before its children, or with them.
alter table api_tokens drop constraint api_tokens_parent_id_fkey,
  add constraint api_tokens_parent_id_fkey foreign key (parent_id) references api_tokens (id) on delete set null;

create function forget_vm_events() returns trigger language plpgsql as $$
begin
  delete from vm_events where vm_id = old.id;
  return null;
end $$;
${forgotten("sandboxes")}
${forgotten("machines")}

${telling(["denied", "out_of_memory"])}`;

/**
 * Adds to the log of a VM, and forgets what is beyond its bounds; `recurring` kinds have one of their own.
 */
export function telling(recurring: readonly string[]): string {
  const kinds = recurring.map((kind) => `'${kind}'`).join(", ");
  return `create or replace function tell_vm_event(org text, vm text, told text, why text, moment timestamptz, times bigint) returns void
language plpgsql as $$
begin
  insert into vm_events (id, org_id, vm_id, kind, reason, at, count, last_at)
  values (new_event_id(clock_timestamp()), org, vm, told, left(why, 500), moment, times, moment);
  delete from vm_events where vm_id = vm and id <= (
    select id from vm_events where vm_id = vm order by id desc
    offset case when told = 'destroyed' then ${kept.ofEnded} else ${kept.events} end limit 1
  );
  if told in (${kinds}) then
    delete from vm_events where vm_id = vm and kind = told and id <= (
      select id from vm_events where vm_id = vm and kind = told order by id desc offset ${kept.denied} limit 1
    );
  end if;
end $$;
`;
}
