// How often PostgreSQL's clock was set, and by how much, so that no time which never passed ends anything.

export const clockEras = `
-- An era is a stretch in which the clock ran as fast as control's monotonic clocks. Each step of the clock begins another one.
create table clock_eras (
  number integer primary key,
  began_at timestamptz not null default now(),
  -- The step of the clock that began the era; negative: back.
  stepped_ms bigint not null,
  -- A replica of control has found the clock to be right, and trusts it until then.
  vouched_until timestamptz not null
);

-- The time since which so much has passed. Steps are taken off, the newest first, as far as they lie within it. A clock that was set back shows some
-- times twice; then this is the earlier one.
create function steady_ago(span interval) returns timestamptz language plpgsql stable as $$
declare
  moment timestamptz := least(now(), (select vouched_until from clock_eras order by number desc limit 1)) - span;
  earliest timestamptz := moment;
  era record;
begin
  for era in select began_at, stepped_ms from clock_eras where stepped_ms <> 0 order by number desc loop
    exit when moment >= era.began_at;
    moment := moment - era.stepped_ms * interval '1 millisecond';
    earliest := least(earliest, moment);
  end loop;
  return earliest;
end
$$;

-- As before, but that an event is as old as the time that has passed.
create or replace function refuse_audit_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    if old.at < steady_ago(interval '30 days') then
      return old;
    end if;
  end if;
  raise exception 'the audit log is append-only' using errcode = 'insufficient_privilege';
end
$$;
`;
