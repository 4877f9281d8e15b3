// Secrets: each version of a value, sealed. The highest version of a name is the one that counts.

export const secrets = `
create table secret_versions (
  org_id text not null references organizations (id),
  -- \`organization\`, or the id of the app that they are for.
  scope text not null,
  name text not null,
  version integer not null,
  sealed_value bytea not null,
  -- The beginning of an HMAC of the value under the organization's key.
  digest bytea not null,
  rolled_back_to integer,
  set_by text,
  set_at timestamptz not null default now(),
  primary key (org_id, scope, name, version)
);
`;
