// Changes of a machine that take effect at its next start, and changes of machines and sandboxes that events
// tell.

/** Made anew with the columns of 0027 and those that a request can change since. */
const noted = (table: string, shown: readonly string[]) => `
drop trigger ${table}_change_noted on ${table};
create trigger ${table}_change_noted before update on ${table} for each row
  when ((${shown.map((column) => `old.${column}`).join(", ")}) is distinct from (${shown.map((column) => `new.${column}`).join(", ")}))
  execute function note_change();
`;

const ofVms = ["version", "egress_version", "snapshot_id", "name", "metadata"];
const ofRestart = ["restart_policy", "restart_max_retries", "restart_disk", "stop_timeout_ms"];

export const changedMachines = `
-- See PendingValues. Null: nothing waits for a start.
alter table machines add column pending jsonb;

-- It may hold an environment, whose values end with the machine. A trigger, so that no statement can forget it, also one of the version before.
create function end_pending_of_machines() returns trigger language plpgsql as $$
begin
  new.pending := null;
  return new;
end $$;
create trigger machines_pending_ended before update of status on machines for each row
  when (new.pending is not null and new.status in ('destroying', 'destroyed'))
  execute function end_pending_of_machines();
${noted("sandboxes", [...ofVms, "expires_at", "pause_after_idle_ms", "auto_resume"])}
${noted("machines", [...ofVms, ...ofRestart, "desired", "reason", "restarts", "exit_code", "pending"])}
`;
