// Answers of apps by routes, by steps of ten minutes, for a day.

export const routeTraffic = `
create table route_traffic (
  app_id text not null references apps (id) on delete cascade,
  -- That of the app itself for its own address.
  route_id text not null,
  -- Begin of the step.
  counted_at timestamptz not null,
  -- By their times, within each bound and beyond.
  times bigint[] not null,
  client_errors bigint not null,
  server_errors bigint not null,
  primary key (app_id, counted_at, route_id)
);
create index route_traffic_by_age on route_traffic (counted_at);
`;
