// Ports of hosts for services of apps that are plain TCP.

export const tcpPorts = `
create table tcp_ports (
  port integer primary key,
  app_id text not null references apps (id) on delete cascade,
  group_name text not null,
  created_at timestamptz not null default now(),
  unique (app_id, group_name)
);
`;
