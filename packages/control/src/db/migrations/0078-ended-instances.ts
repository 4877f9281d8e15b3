// Instances of apps that are gone, whose logs their hosts keep.

export const endedInstances = `
create table ended_instances (
  machine_id text primary key,
  app_id text not null references apps (id) on delete cascade,
  release integer not null,
  group_name text not null,
  number integer not null,
  host_id text not null,
  -- Of the VM, for its log.
  secrets jsonb,
  created_at timestamptz not null,
  ended_at timestamptz not null default now()
);
create index ended_instances_of_app on ended_instances (app_id, ended_at);
`;
