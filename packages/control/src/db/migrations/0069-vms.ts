// One table of microVMs. `sandboxes` and `machines`, which were tables, are views of its rows, so a version
// before goes on with them.

const shared = [
  ..."id org_id name template size vcpus memory_mib disk_gib status version execution_id host_id env metadata".split(
    " ",
  ),
  ..."egress egress_version egress_applied created_at started_at destroyed_at reason claimed_until".split(
    " ",
  ),
  ..."attempts retry_at host_lost unique_name public_ports snapshot_id forked_by next_event".split(" "),
  ..."changed_in changed_seq status_since".split(" "),
];
const ofSandboxes = [
  ..."mode timeout_ms expires_at paused_at pause_after_idle_ms auto_resume keeps_memory reboots".split(" "),
  ..."port_options rollback".split(" "),
];
const ofMachines = [
  ..."desired restart_wished command stop_timeout_ms restart_policy restart_max_retries restarts retries".split(
    " ",
  ),
  ..."exit_code stopped_at restart_disk rollback_to pending health_check health check_version".split(" "),
  ..."stop_after_idle_ms autostart stopped_idle".split(" "),
];

const list = (columns: readonly string[]) => columns.join(", ");

/**
 * Places of rows (`ctid`) are what the version before deletes rows by that are over. A later migration may
 * add columns, at the end alone.
 */
const view = (table: string, kind: string, columns: readonly string[], added: readonly string[]) => `
create or replace view ${table} as select ${list([...columns, "ctid", ...added])} from vms where kind = '${kind}';
`;
export const sandboxesView = (added: readonly string[] = []) =>
  view("sandboxes", "sandbox", [...shared, ...ofSandboxes], added);
export const machinesView = (added: readonly string[] = []) =>
  view("machines", "machine", [...shared, ...ofMachines], added);

/**
 * Indexes that both tables had, over both kinds. The names of VMs stay in an index for each kind, whose
 * violation the version before knows.
 */
const sharedIndexes = `
create index vms_by_org on vms (org_id, kind, id desc);
create index vms_by_status on vms (org_id, kind, status) where status <> 'destroyed';
create index vms_by_change on vms (org_id, kind, changed_in, changed_seq);
create index vms_destroyed on vms (org_id, kind, destroyed_at) where status = 'destroyed';
create index vms_failed on vms (org_id, kind, id) where status = 'failed';
create index vms_held_by_org on vms (org_id) include (kind, status, vcpus, memory_mib, disk_gib, started_at)
  where status <> 'destroyed';
create unique index machines_unique_name on vms (org_id, unique_name)
  where kind = 'machine' and unique_name is not null and status <> 'destroyed';
create unique index sandboxes_unique_name on vms (org_id, unique_name)
  where kind = 'sandbox' and unique_name is not null and status <> 'destroyed';
create index vms_load on vms (host_id, status) include (kind, vcpus, memory_mib) where status <> 'destroyed';
create index vms_with_egress_due on vms (id) where status = 'running' and egress_applied <> egress_version;
`;

/** Changes of these are changes of the resource. */
const shown = [
  ..."version egress_version snapshot_id name metadata expires_at pause_after_idle_ms auto_resume".split(" "),
  ..."restart_policy restart_max_retries restart_disk stop_timeout_ms desired reason restarts exit_code".split(
    " ",
  ),
  ..."pending health_check health stop_after_idle_ms autostart".split(" "),
];
const rowOf = (row: string) => shown.map((column) => `${row}.${column}`).join(", ");

const told = (table: string, kind: string) => `
create trigger ${table}_creation_told after insert on vms
  for each row when (new.kind = '${kind}') execute function tell_${table}();
create trigger ${table}_change_told after update of status, host_id on vms
  for each row when (new.kind = '${kind}' and (old.status <> new.status or old.host_id <> new.host_id))
  execute function tell_${table}();
`;

export const vms = `
drop trigger sandboxes_change_noted on sandboxes;
drop trigger sandboxes_change_told on sandboxes;
drop trigger sandboxes_creation_told on sandboxes;
drop trigger sandboxes_forgotten on sandboxes;
drop trigger sandboxes_noted on sandboxes;
drop trigger sandboxes_rollback_ended on sandboxes;
drop trigger sandboxes_status_noted on sandboxes;
drop function note_sandboxes();
drop index sandboxes_by_change, sandboxes_by_org, sandboxes_by_status, sandboxes_destroyed, sandboxes_failed,
  sandboxes_held_by_org, sandboxes_load, sandboxes_unique_name, sandboxes_with_egress_due;

alter table sandboxes rename to vms;
alter index sandboxes_pkey rename to vms_pkey;
alter index sandboxes_by_fork rename to vms_by_fork;
alter index sandboxes_by_metadata rename to vms_by_metadata;
alter index sandboxes_with_env_to_erase rename to vms_with_env_to_erase;
alter table vms rename constraint sandboxes_host_id_fkey to vms_host_id_fkey;
alter table vms rename constraint sandboxes_org_id_fkey to vms_org_id_fkey;

-- Columns of sandboxes are null, or have their default, in rows of machines, and the other way round.
alter table vms
  add column kind text not null generated always as (case left(id, 4) when 'mch_' then 'machine' when 'sbx_' then 'sandbox' end) stored,
  alter column mode drop not null,
  alter column timeout_ms drop not null,
  alter column expires_at drop not null,
  add column desired text not null default 'running' constraint vms_desired_check check (desired in ('running', 'stopped')),
  add column restart_wished boolean not null default false,
  add column command text,
  add column stop_timeout_ms integer,
  add column restart_policy text constraint vms_restart_policy_check check (restart_policy in ('no', 'on-failure', 'always')),
  add column restart_max_retries integer,
  add column restarts integer not null default 0,
  add column retries integer not null default 0,
  add column exit_code integer,
  add column stopped_at timestamptz,
  add column restart_disk text not null default 'keep' constraint vms_restart_disk_check check (restart_disk in ('keep', 'disposable')),
  add column rollback_to text,
  add column pending jsonb,
  add column health_check jsonb,
  add column health jsonb,
  add column check_version integer not null default 0,
  add column stop_after_idle_ms integer,
  add column autostart boolean not null default false,
  add column stopped_idle boolean not null default false,
  add constraint vms_sandbox_check check (kind <> 'sandbox' or num_nulls(mode, timeout_ms, expires_at) = 0),
  add constraint vms_machine_check check (kind <> 'machine' or num_nulls(stop_timeout_ms, restart_policy) = 0);

-- No trigger of vms hears of these rows, which are no new machines.
insert into vms (${list([...shared, ...ofMachines])}) select ${list([...shared, ...ofMachines])} from machines;
alter table restarts drop constraint restarts_machine_id_fkey;
alter table machine_ends drop constraint machine_ends_machine_id_fkey;
drop function note_machines() cascade;
drop function room_entries_of(machines, bigint);
drop table machines;
alter table restarts add constraint restarts_machine_id_fkey foreign key (machine_id) references vms (id) on delete cascade;
alter table machine_ends add constraint machine_ends_machine_id_fkey foreign key (machine_id) references vms (id) on delete cascade;
${sharedIndexes}
${sandboxesView()}
${machinesView()}

-- As before, of both kinds.
create or replace function room_entries_of(vm vms, sign bigint) returns setof room_entry language sql immutable as $$
  select vm.org_id, sign * (vm.kind = 'sandbox')::integer, sign * (vm.kind = 'machine')::integer,
    sign * vm.vcpus * on_host, sign * vm.memory_mib * on_host, sign * vm.disk_gib
  from (
    select (vm.status in ('creating', 'running', 'pausing', 'resuming', 'stopping', 'starting', 'destroying'))::integer as on_host
  ) vm_is
  where vm.status <> 'destroyed'
    -- Nothing exists of a sandbox that has failed, nor of a machine that never ran.
    and not (vm.kind = 'sandbox' and vm.status = 'failed')
    and not (vm.kind = 'machine' and vm.status in ('failed', 'stopped') and vm.started_at is null)
  union all
  select vm.host_id, 0, 0, sign * vm.vcpus, sign * vm.memory_mib, 0
  where vm.status in ('creating', 'running', 'pausing', 'resuming', 'stopping', 'starting', 'destroying')
  union all
  select 'persistent:' || vm.org_id, 0, 0, 0, 0, sign * (vm.disk_gib + ceil(vm.memory_mib / 1024.0)::bigint)
  where vm.kind = 'sandbox' and (vm.mode = 'persistent' or vm.status = 'pausing' or vm.paused_at is not null)
    and vm.status not in ('failed', 'destroyed')
$$;
create function note_vms() returns trigger language plpgsql as $$
declare
  before vms := old;
  after vms := new;
begin
  insert into room_entries
  select account, sum(sandboxes), sum(machines), sum(vcpus), sum(memory_mib), sum(disk_gib)
  from (select * from room_entries_of(after, 1) union all select * from room_entries_of(before, -1)) change
  group by account
  having (sum(sandboxes), sum(machines), sum(vcpus), sum(memory_mib), sum(disk_gib)) <> (0, 0, 0, 0, 0);
  return null;
end $$;
create trigger vms_noted after insert or delete or update of status, org_id, host_id, vcpus, memory_mib, disk_gib, started_at on vms
  for each row execute function note_vms();

create trigger vms_change_noted before update on vms
  for each row when ((${rowOf("old")}) is distinct from (${rowOf("new")})) execute function note_change();
create trigger vms_status_noted before update of status on vms
  for each row when (old.status is distinct from new.status) execute function note_status();
create trigger vms_forgotten after delete on vms for each row execute function forget_vm_events();
${told("sandboxes", "sandbox")}
${told("machines", "machine")}
create trigger sandboxes_rollback_ended before update of status on vms
  for each row when (new.rollback is not null and new.status not in ('resuming', 'unreachable'))
  execute function end_rollback_of_sandboxes();
create trigger machines_rollback_ended before update of status on vms
  for each row when (new.rollback_to is not null and new.status = 'running') execute function end_rollback_of_machines();
create trigger machines_pending_ended before update of status on vms
  for each row when (new.pending is not null and new.status in ('destroying', 'destroyed'))
  execute function end_pending_of_machines();
create trigger machines_run_again after update of status on vms
  for each row when (new.kind = 'machine' and new.status = 'running' and old.status not in ('running', 'creating'))
  execute function note_machine_runs_again();
`;
