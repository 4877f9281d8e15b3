// Changes of apps and deploys, for those who follow them.

/**
 * An app shows rows of other tables: its deploys and its instances. Its version is in a row of its own, which
 * is written at the end of a transaction. A trigger that wrote the app's row at once would take locks in the
 * other order than calls do, which lock the app first.
 */
const told = (
  table: string,
  events: string,
  { id, when }: { readonly id: string; readonly when: string },
) => `
create constraint trigger ${table}_app_change_noted after ${events} on ${table} deferrable initially deferred
  for each row when (${when}) execute function note_app_change('${id}');
`;

const isOther = (columns: readonly string[]) =>
  `(${columns.map((column) => `old.${column}`).join(", ")}) is distinct from (${columns.map((column) => `new.${column}`).join(", ")})`;

/** Columns whose changes are changes of the app, at its own table. */
export const changeOfApps = (more: readonly string[] = []) =>
  told("apps", "update", {
    id: "id",
    when: isOther(["status", "label", "scale", "live", "maintenance", ...more]),
  });

export const appChanges = `
create table app_changes (
  id text primary key,
  org_id text not null references organizations (id),
  version integer not null default 1,
  changed_in xid8 not null default pg_current_xact_id(),
  changed_seq bigint not null default nextval('changes'),
  -- Null: the app is there. Its name may be another app's by now.
  gone_at timestamptz
);
create index app_changes_by_change on app_changes (org_id, changed_in, changed_seq);
create index app_changes_of_gone on app_changes (org_id, gone_at) where gone_at is not null;
insert into app_changes (id, org_id, changed_in, changed_seq) select id, org_id, '0', 0 from apps;

create function note_new_app() returns trigger language plpgsql as $$
begin
  insert into app_changes (id, org_id) values (new.id, new.org_id);
  return null;
end $$;
create trigger apps_creation_noted after insert on apps for each row execute function note_new_app();

-- Its argument is the column with the id of the app.
create function note_app_change() returns trigger language plpgsql as $$
declare
  changed jsonb := case when tg_op = 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
begin
  update app_changes set version = version + 1, changed_in = pg_current_xact_id(), changed_seq = nextval('changes'),
    gone_at = case when tg_table_name = 'apps' and tg_op = 'DELETE' then now() else gone_at end
  where id = changed ->> tg_argv[0];
  return null;
end $$;
${changeOfApps()}
create constraint trigger apps_end_noted after delete on apps deferrable initially deferred
  for each row execute function note_app_change('id');
create constraint trigger new_deploys_app_change_noted after insert on deploys deferrable initially deferred
  for each row execute function note_app_change('app_id');
${told("deploys", "update", { id: "app_id", when: isOther(["version", "ends_by"]) })}
create constraint trigger app_instances_coming_and_going_noted after insert or delete on app_instances
  deferrable initially deferred for each row execute function note_app_change('app_id');
${told("app_instances", "update", { id: "app_id", when: isOther(["state"]) })}

alter table deploys
  add column changed_in xid8 not null default '0',
  add column changed_seq bigint not null default 0;
alter table deploys
  alter column changed_in set default pg_current_xact_id(),
  alter column changed_seq set default nextval('changes');
create trigger deploys_change_noted before update on deploys for each row
  when (${isOther(["version", "ends_by"])}) execute function note_change();
create index deploys_by_change on deploys (org_id, changed_in, changed_seq);
`;
