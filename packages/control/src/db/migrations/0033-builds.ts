// Templates of organizations, and the builds that make them.

/** As in `0011-room-entries.ts` and `0027-changes.ts`. */
const noted = (table: string, shown: string) => `
alter table ${table}
  add column changed_in xid8 not null default pg_current_xact_id(),
  add column changed_seq bigint not null default nextval('changes');
create trigger ${table}_change_noted before update on ${table} for each row
  when ((${shown
    .split(", ")
    .map((column) => `old.${column}`)
    .join(", ")}) is distinct from (${shown
    .split(", ")
    .map((column) => `new.${column}`)
    .join(", ")}))
  execute function note_change();
create index ${table}_by_change on ${table} (org_id, changed_in, changed_seq);
`;

export const builds = `
create table builds (
  id text primary key,
  org_id text not null references organizations (id),
  name text not null,
  tag text not null,
  request jsonb not null,
  status text not null,
  version integer not null default 1,
  -- none, awaited, or there.
  context text not null,
  host_id text not null references hosts (id),
  -- The incarnation of its microVM; null: it has none any more, and holds nothing.
  execution_id text,
  size text not null,
  vcpus integer not null,
  memory_mib integer not null,
  disk_gib integer not null,
  egress jsonb not null,
  -- What the steps stand on, and what holds for the template beside its files.
  target jsonb not null,
  config jsonb not null,
  -- Of what the steps wrote, once it is sealed.
  image jsonb,
  -- The template that it makes.
  template_id text not null,
  error jsonb,
  log_lines bigint not null default 0,
  log_bytes bigint not null default 0,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  ends_by timestamptz not null,
  attempts integer not null default 0,
  retry_at timestamptz not null default now()
);
create index builds_by_org on builds (org_id, id desc);
create index builds_under_way on builds (org_id) where status in ('queued', 'building', 'sealing', 'freezing');
-- What a replica has to go on with.
create index builds_to_do on builds (retry_at)
  where status in ('queued', 'building', 'sealing', 'freezing') or execution_id is not null;
create table build_steps (
  build_id text not null references builds (id) on delete cascade,
  org_id text not null,
  index integer not null,
  kind text not null,
  name text not null,
  command text not null,
  env jsonb not null,
  timeout_ms integer,
  status text not null default 'waiting',
  -- Of its command in the microVM.
  execution text not null,
  -- Bytes of its output that are in the log.
  position bigint not null default 0,
  exit_code integer,
  started_at timestamptz,
  finished_at timestamptz,
  primary key (build_id, index)
);
create table build_log (
  build_id text not null references builds (id) on delete cascade,
  line bigint not null,
  step integer,
  at timestamptz not null default now(),
  text text not null,
  primary key (build_id, line)
);

create table templates (
  id text primary key,
  org_id text not null references organizations (id),
  name text not null,
  status text not null,
  version integer not null default 1,
  digest text not null,
  image jsonb not null,
  config jsonb not null,
  disk_gib integer not null,
  bytes bigint not null,
  build_id text not null,
  created_at timestamptz not null default now(),
  deleted_at timestamptz
);
create index templates_by_org on templates (org_id, id desc) where status = 'ready';
create index templates_to_delete on templates (id) where status = 'deleting';
create table template_tags (
  org_id text not null,
  name text not null,
  tag text not null,
  template_id text not null references templates (id),
  primary key (org_id, name, tag)
);
create index template_tags_by_template on template_tags (template_id);
create table template_hosts (
  template_id text not null references templates (id),
  host_id text not null references hosts (id),
  primary key (template_id, host_id)
);
${noted("builds", "version, context")}
${noted("templates", "version")}

-- What a build's microVM holds, of its organization and of its host.
create function room_entries_of(build builds, sign bigint) returns setof room_entry language sql immutable as $$
  select account, 0::bigint, 0::bigint, sign * build.vcpus, sign * build.memory_mib,
    case when account = build.org_id then sign * build.disk_gib else 0 end
  from unnest(array[build.org_id, build.host_id]) account
  where build.execution_id is not null
$$;
create function note_builds() returns trigger language plpgsql as $$
declare
  before builds := old;
  after builds := new;
begin
  insert into room_entries
  select account, sum(sandboxes), sum(machines), sum(vcpus), sum(memory_mib), sum(disk_gib)
  from (select * from room_entries_of(after, 1) union all select * from room_entries_of(before, -1)) change
  group by account
  having (sum(sandboxes), sum(machines), sum(vcpus), sum(memory_mib), sum(disk_gib)) <> (0, 0, 0, 0, 0);
  return null;
end $$;
create trigger builds_noted after insert or delete or update of execution_id, org_id, host_id, vcpus, memory_mib, disk_gib on builds
for each row execute function note_builds();
`;
