// Health checks of machines, and what their hosts have found.

export const healthChecks = `
-- See StoredCheck and StoredHealth. Null: none.
alter table machines add column health_check jsonb, add column health jsonb;
-- Counts the changes of the check: 0 of a machine that never had one.
alter table machines add column check_version integer not null default 0;

-- A change of the check or of its state is one that readers are told of.
create trigger machines_check_noted before update on machines for each row
  when ((old.health_check, old.health) is distinct from (new.health_check, new.health))
  execute function note_change();
`;
