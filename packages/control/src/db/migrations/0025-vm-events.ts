// The log of the life of each sandbox and machine.

const kept = { events: 500, denied: 100 };

/** A trigger, so that no statement that changes a status can forget its event, also one of an older version: both are there, or neither is. */
const noted = (table: string) => `
create trigger ${table}_creation_told after insert on ${table}
  for each row execute function tell_${table}();
create trigger ${table}_change_told after update of status, host_id on ${table}
  for each row when (old.status <> new.status or old.host_id <> new.host_id) execute function tell_${table}();
`;

export const vmEvents = `
create table vm_events (
  id text primary key,
  org_id text not null,
  vm_id text not null,
  kind text not null,
  reason text,
  at timestamptz not null,
  -- How many equal ones it stands for, and when the last of them was.
  count bigint not null default 1,
  last_at timestamptz not null
);
create index vm_events_by_vm on vm_events (vm_id, id desc);
create index vm_events_of_destroyed on vm_events (at) where kind = 'destroyed';

-- What the end of the transition that is under way will be told as: {"kind": …, "reason": …}.
alter table sandboxes add column next_event jsonb;
alter table machines add column next_event jsonb;

-- As newId of contract/src/ids.ts, but that two of one millisecond sort as they were made.
create function new_event_id(moment timestamptz) returns text language sql volatile as $$
  select 'evt_' || (
    select string_agg(substr(alphabet, ((us / 1000 >> 5 * digit) & 31)::integer + 1, 1), '' order by digit desc)
    from generate_series(0, 9) digit
  ) || substr(alphabet, (us % 1000 >> 5)::integer + 1, 1) || substr(alphabet, (us % 1000 & 31)::integer + 1, 1)
    || left(replace(gen_random_uuid()::text, '-', ''), 14)
  from (
    select (extract(epoch from moment) * 1000000)::bigint as us, '0123456789abcdefghjkmnpqrstvwxyz' as alphabet
  ) parts
$$;

-- Of each VM so many are kept: a guest chooses how much it is denied.
create function tell_vm_event(org text, vm text, told text, why text, moment timestamptz, times bigint) returns void
language plpgsql as $$
begin
  insert into vm_events (id, org_id, vm_id, kind, reason, at, count, last_at)
  values (new_event_id(clock_timestamp()), org, vm, told, left(why, 500), moment, times, moment);
  delete from vm_events where vm_id = vm and id <= (
    select id from vm_events where vm_id = vm order by id desc offset ${kept.events} limit 1
  );
  if told in ('denied', 'out_of_memory') then
    delete from vm_events where vm_id = vm and kind = told and id <= (
      select id from vm_events where vm_id = vm and kind = told order by id desc offset ${kept.denied} limit 1
    );
  end if;
end $$;

create function tell_sandboxes() returns trigger language plpgsql as $$
declare
  told text;
  why text;
  -- Where it is the event that comes about.
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
    told := case when new.status in ('running', 'paused') then 'moved' end;
    why := 'from host ' || old.host_id || ' to ' || new.host_id;
  else
    told := case
      when new.status in ('unreachable', 'failed', 'destroyed') then new.status
      when new.status = 'running' then case
        when old.status = 'creating' then 'started'
        when old.status = 'pausing' then case when new.reason is not null then 'pause_failed' end
        when old.status = 'resuming' then case
          -- A rollback that could not begin has changed nothing.
          when old.execution_id = new.execution_id then null
          when planned = 'rolled_back' then planned
          else 'resumed'
        end
        when old.status = 'paused' then 'resumed'
        else 'returned'
      end
      when new.status = 'paused' then case
        when old.status = 'resuming' then case when planned = 'rolled_back' then null else 'resume_failed' end
        when old.status = 'unreachable' then 'returned'
        else 'paused'
      end
    end;
    why := case
      when told in ('unreachable', 'failed', 'pause_failed') then new.reason
      when told = 'destroyed' then coalesce(new.reason, 'by request')
      when told = planned then new.next_event ->> 'reason'
    end;
  end if;
  if told is not null then
    perform tell_vm_event(new.org_id, new.id, told, why, clock_timestamp(), 1);
  end if;
  -- All forks of one call begin to run in one transaction; the first of them tells it of their source.
  if tg_op = 'UPDATE' and told = 'started' and new.forked_by is not null
    and new.id = (select min(id) from sandboxes where forked_by = new.forked_by) then
    perform tell_vm_event(new.org_id, (select vm_id from snapshots where id = new.forked_by), 'forked',
      'into ' || (select count(*) from sandboxes where forked_by = new.forked_by), clock_timestamp(), 1);
  end if;
  return null;
end $$;

create function tell_machines() returns trigger language plpgsql as $$
declare
  told text;
  why text;
  planned text := new.next_event ->> 'kind';
begin
  if tg_op = 'INSERT' then
    told := 'created';
    why := 'from template ' || new.template;
  elsif old.status = new.status then
    told := case when new.status = 'running' then 'moved' end;
    why := 'from host ' || old.host_id || ' to ' || new.host_id;
  else
    told := case
      when new.status = 'running' then case
        when old.status = 'failed' then 'returned'
        when planned = 'restarted' then planned
        else 'started'
      end
      when new.status = 'failed' and planned = 'out_of_memory' then planned
      when new.status in ('stopped', 'failed', 'destroyed') then new.status
    end;
    why := case when told = 'destroyed' then coalesce(new.reason, 'by request') else new.reason end;
  end if;
  if told is not null then
    perform tell_vm_event(new.org_id, new.id, told, why, clock_timestamp(), 1);
  end if;
  return null;
end $$;

create function tell_snapshots() returns trigger language plpgsql as $$
begin
  perform tell_vm_event(new.org_id, new.vm_id, 'snapshotted', 'snapshot ' || new.id, clock_timestamp(), 1);
  return null;
end $$;
create trigger snapshots_told after update of status on snapshots
  for each row when (old.status <> new.status and new.status = 'ready' and not new.is_internal)
  execute function tell_snapshots();
${noted("sandboxes")}
${noted("machines")}
`;
