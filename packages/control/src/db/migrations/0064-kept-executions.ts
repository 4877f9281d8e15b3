// Commands whose output outlives their sandbox, as `skerry run` asks for.

export const keptExecutions = `
create table kept_executions (
  id text primary key,
  org_id text not null references organizations,
  sandbox_id text not null,
  command text not null,
  -- The sandbox is destroyed when the command has ended.
  destroys_sandbox boolean not null,
  started_at timestamptz not null,
  ended_at timestamptz,
  -- Why there is no exit.
  reason text,
  exit jsonb,
  position bigint not null default 0,
  stdout bytea not null default '',
  stderr bytea not null default ''
);
-- A sandbox has one that runs, so the quota of sandboxes bounds those of an organization.
create unique index kept_executions_running on kept_executions (sandbox_id) where ended_at is null;
create index kept_executions_of_organization on kept_executions (org_id, id);
create index kept_executions_ended on kept_executions (org_id, ended_at) where ended_at is not null;
`;
