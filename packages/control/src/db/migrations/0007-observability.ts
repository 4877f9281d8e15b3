// What the platform tells of itself: what hosts measure, counts that are cheap to read, and the audit log.

export const observability = `
-- What a host measured with its last heartbeat. Null: it has not said.
alter table hosts add column usage jsonb;

-- Placement and metrics sum over it alone, without reading a row, however many sandboxes have ended.
create index sandboxes_load on sandboxes (host_id, status) include (vcpus, memory_mib) where status <> 'destroyed';
drop index sandboxes_on_host;
create index sandboxes_by_status on sandboxes (org_id, status) where status <> 'destroyed';
create index sandboxes_with_egress_due on sandboxes (id) where status = 'running' and egress_applied <> egress_version;

-- No foreign keys: an event outlives what it tells of.
create table audit_events (
  id text primary key,
  org_id text not null,
  at timestamptz not null default now(),
  -- The background service that acted by itself; null where a user did.
  service text,
  user_id text,
  token_id text,
  address text,
  request_id text,
  action text not null,
  resource_kind text not null,
  resource_id text,
  outcome text not null check (outcome in ('success', 'denied', 'failure')),
  -- Of the error, where the outcome is not success.
  code text
);
-- One for each filter, so that a page costs the same however long the log is.
create index audit_events_by_org on audit_events (org_id, id desc);
create index audit_events_by_action on audit_events (org_id, action, id desc);
create index audit_events_by_resource on audit_events (org_id, resource_id, id desc) where resource_id is not null;
create index audit_events_by_user on audit_events (org_id, user_id, id desc) where user_id is not null;
create index audit_events_by_token on audit_events (org_id, token_id, id desc) where token_id is not null;

-- Append-only, also for ourselves: nothing is changed, and only what is old may go.
create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    if old.at < now() - interval '30 days' then
      return old;
    end if;
  end if;
  raise exception 'the audit log is append-only' using errcode = 'insufficient_privilege';
end
$$;
create trigger audit_events_append_only before update or delete on audit_events
  for each row execute function refuse_audit_change();
create trigger audit_events_not_truncated before truncate on audit_events
  for each statement execute function refuse_audit_change();
`;
