// Ports that need no token, and the key of signed URLs.

export const ports = `
alter table sandboxes add column public_ports integer[] not null default '{}';
alter table machines add column public_ports integer[] not null default '{}';

create table url_signing_keys (
  -- There is one.
  id integer primary key default 1 check (id = 1),
  key bytea not null
);
`;
