// Requests of apps by steps of five minutes, for a day.

export const appTraffic = `
create table app_traffic (
  app_id text not null references apps (id) on delete cascade,
  -- Begin of the step.
  counted_at timestamptz not null,
  group_name text not null,
  release integer not null,
  requests bigint not null,
  client_errors bigint not null,
  server_errors bigint not null,
  received_bytes bigint not null,
  sent_bytes bigint not null,
  primary key (app_id, counted_at, group_name, release)
);
create index app_traffic_by_age on app_traffic (counted_at);
`;
