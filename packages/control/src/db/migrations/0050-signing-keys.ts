// Keys of signed URLs and of E2B's clients that the database does not tell, and digests of what was given away.

export const signingKeys = `
create table signing_keys (
  id text primary key,
  number bigint not null unique generated always as identity,
  sealed_key bytea not null,
  created_at timestamptz not null default now()
);
-- The key that was here in the clear is in every copy of this database. The version before makes itself another one where it serves again, by
-- which this version opens nothing.
delete from url_signing_keys;
-- Of the access tokens that were given away; none for those of the version before, which end.
alter table e2b_accesses add column tokens_sha256 bytea[] not null default '{}';
-- A machine proves with the digest that it has the token, so the digest is sealed. The version before has it in the clear; its tokens end.
alter table join_tokens add column sealed_digest bytea, alter column secret_sha256 drop not null;
`;
