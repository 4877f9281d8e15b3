// When what `/v1` shows was changed last, in an order in which readers can follow the changes without a gap.

/** A trigger, so that no statement can forget it, also one of an older version. `shown`: what a change of is a change of the resource. */
const noted = (table: string, shown: readonly string[]) => `
alter table ${table}
  -- The transaction of the last change. Rows from before are older than all of them.
  add column changed_in xid8 not null default '0',
  -- Orders the changes of one transaction.
  add column changed_seq bigint not null default 0;
alter table ${table}
  alter column changed_in set default pg_current_xact_id(),
  alter column changed_seq set default nextval('changes');
create trigger ${table}_change_noted before update on ${table} for each row
  when ((${shown.map((column) => `old.${column}`).join(", ")}) is distinct from (${shown.map((column) => `new.${column}`).join(", ")}))
  execute function note_change();
`;

export const changes = `
create sequence changes;

-- Transactions commit in another order than their ids and numbers are given out. A reader takes what is of transactions before the oldest one
-- that is still open, so nothing can come between what it has read any more.
create function note_change() returns trigger language plpgsql as $$
begin
  new.changed_in := pg_current_xact_id();
  new.changed_seq := nextval('changes');
  return new;
end $$;
${noted("sandboxes", ["version", "egress_version", "expires_at", "snapshot_id"])}
${noted("machines", ["version", "egress_version", "desired", "reason", "restarts", "exit_code", "snapshot_id"])}
${noted("snapshots", ["version", "host_id"])}
${noted("hosts", ["version", "waits_for", "unsettled", "removed_at"])}
${noted("moves", ["version"])}
${noted("leases", ["token", "last_run_at"])}
create index sandboxes_by_change on sandboxes (org_id, changed_in, changed_seq);
create index machines_by_change on machines (org_id, changed_in, changed_seq);
create index snapshots_by_change on snapshots (org_id, changed_in, changed_seq);
create index moves_by_change on moves (changed_in, changed_seq);
`;
