// How machines have ended without being asked to.

export const machineEnds = `
create table machine_ends (
  id text primary key,
  machine_id text not null references machines (id) on delete cascade,
  ended_at timestamptz not null default now(),
  cause text not null,
  exit_code integer,
  -- Its number in Linux.
  signal integer,
  out_of_memory boolean not null default false,
  reason text not null,
  restarted_at timestamptz
);
create index machine_ends_by_machine on machine_ends (machine_id, id desc);
create index machine_ends_by_time on machine_ends (ended_at);

-- A trigger, so that no statement that has a machine run again can forget it.
create function note_machine_runs_again() returns trigger language plpgsql as $$
begin
  update machine_ends set restarted_at = now() where machine_id = new.id and restarted_at is null;
  return null;
end $$;
create trigger machines_run_again after update of status on machines
  for each row when (new.status = 'running' and old.status not in ('running', 'creating'))
  execute function note_machine_runs_again();
`;
