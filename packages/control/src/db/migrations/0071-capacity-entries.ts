// The table `capacity_entries`, which was `room_entries`: what VMs hold of organizations and hosts. The
// version before reads and folds them through a view of the former name.

const noted = (table: string) => `
create or replace function note_${table}() returns trigger language plpgsql as $$
declare
  before ${table} := old;
  after ${table} := new;
begin
  insert into capacity_entries
  select account, sum(sandboxes), sum(machines), sum(vcpus), sum(memory_mib), sum(disk_gib)
  from (select * from capacity_entries_of(after, 1) union all select * from capacity_entries_of(before, -1)) change
  group by account
  having (sum(sandboxes), sum(machines), sum(vcpus), sum(memory_mib), sum(disk_gib)) <> (0, 0, 0, 0, 0);
  return null;
end $$;
`;

export const capacityEntries = `
alter table room_entries rename to capacity_entries;
alter index room_entries_by_account rename to capacity_entries_by_account;
alter type room_entry rename to capacity_entry;
alter function room_entries_of(vms, bigint) rename to capacity_entries_of;
alter function room_entries_of(moves, bigint) rename to capacity_entries_of;
alter function room_entries_of(builds, bigint) rename to capacity_entries_of;
${noted("vms")}
${noted("moves")}
${noted("builds")}
create view room_entries as select * from capacity_entries;
`;
