// Receivers to which logs of apps are forwarded, and how far the log of each instance was sent.

export const logForwards = `
create table log_forwards (
  -- Id of the app, or 'platform': the receiver of all apps that the operator has set.
  id text primary key,
  app_id text unique references apps (id) on delete cascade,
  url text not null,
  header_name text,
  -- Name of a secret of the organization.
  header_secret text,
  created_at timestamptz not null default now(),
  fault text,
  fault_since timestamptz,
  check (id = coalesce(app_id, 'platform')),
  check ((header_name is null) = (header_secret is null)),
  check ((fault is null) = (fault_since is null))
);
create table log_cursors (
  forward_id text not null references log_forwards (id) on delete cascade,
  app_id text not null references apps (id) on delete cascade,
  machine_id text not null,
  -- Behind the last line that was sent.
  place text not null,
  -- The instance is gone, and its log was sent to the end.
  is_done boolean not null,
  primary key (forward_id, machine_id)
);
create index log_cursors_by_app on log_cursors (app_id);
`;
