// A machine whose host could not stop it goes on, and its log tells that as what it is.

export const stopsThatFail = `
create or replace function tell_machines() returns trigger language plpgsql as $$
declare
  told text;
  why text;
  planned text := new.next_event ->> 'kind';
begin
  if tg_op = 'INSERT' then
    told := 'created';
    why := case
      when new.forked_by is not null then 'forked from ' || (select vm_id from snapshots where id = new.forked_by)
      when new.snapshot_id is not null then 'from snapshot ' || new.snapshot_id
      else 'from template ' || new.template
    end;
  elsif old.status = new.status then
    told := case when new.status = 'running' then 'moved' end;
    why := 'from host ' || old.host_id || ' to ' || new.host_id;
  else
    told := case
      when new.status = 'running' then case
        when old.status = 'failed' then 'returned'
        when old.status = 'stopping' then 'stop_failed'
        when planned in ('restarted', 'rolled_back') then planned
        else 'started'
      end
      when new.status = 'failed' and planned = 'out_of_memory' then planned
      when new.status in ('stopped', 'failed', 'destroyed') then new.status
    end;
    why := case
      when told = 'destroyed' then coalesce(new.reason, 'by request')
      when told = 'rolled_back' then new.next_event ->> 'reason'
      else new.reason
    end;
  end if;
  if told is not null then
    perform tell_vm_event(new.org_id, new.id, told, why, clock_timestamp(), 1);
  end if;
  -- All forks of one call begin to run in one transaction; the first of them tells it of their source.
  if tg_op = 'UPDATE' and told = 'started' and old.status = 'creating' and new.forked_by is not null
    and new.id = (select min(id) from machines where forked_by = new.forked_by) then
    perform tell_vm_event(new.org_id, (select vm_id from snapshots where id = new.forked_by), 'forked',
      'into ' || (select count(*) from machines where forked_by = new.forked_by), clock_timestamp(), 1);
  end if;
  return null;
end $$;
`;
