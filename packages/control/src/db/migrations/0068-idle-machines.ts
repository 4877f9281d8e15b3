// Machines that are stopped when nothing uses them, and started again by a call.

export const idleMachines = `
-- Null: it is not stopped by itself.
alter table machines add column stop_after_idle_ms integer;
alter table machines add column autostart boolean not null default false;
-- It was stopped, or is about to be, because nothing used it.
alter table machines add column stopped_idle boolean not null default false;

-- A change of these is one that readers are told of.
create trigger machines_idle_noted before update on machines for each row
  when ((old.stop_after_idle_ms, old.autostart) is distinct from (new.stop_after_idle_ms, new.autostart))
  execute function note_change();
`;
