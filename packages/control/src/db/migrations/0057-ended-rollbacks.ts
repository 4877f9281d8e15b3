// A rollback ends with the status that it leads to, also where the version before writes that status: it does
// not know the columns.

/** A trigger, so that no statement can forget it. Left in a row that runs, the column would have a later
 *  failure end at the snapshot. */
const ended = (table: string, column: string, under: string) => `
create function end_rollback_of_${table}() returns trigger language plpgsql as $$
begin
  new.${column} := null;
  return new;
end $$;
create trigger ${table}_rollback_ended before update of status on ${table} for each row
  when (new.${column} is not null and ${under})
  execute function end_rollback_of_${table}();
`;

export const endedRollbacks = `
${ended("sandboxes", "rollback", "new.status not in ('resuming', 'unreachable')")}
${ended("machines", "rollback_to", "new.status = 'running'")}
update sandboxes set rollback = null where rollback is not null and status not in ('resuming', 'unreachable');
update machines set rollback_to = null where rollback_to is not null and status = 'running';
`;
