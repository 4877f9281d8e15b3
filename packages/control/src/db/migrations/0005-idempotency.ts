// What became of requests that named themselves with an Idempotency-Key.

export const idempotency = `
create table idempotency_keys (
  org_id text not null,
  user_id text not null,
  key text not null,
  -- SHA-256 of method, path and body: the same key means the same request.
  fingerprint bytea not null,
  -- Names one attempt, so that one that was taken for dead cannot write any more.
  attempt_id text not null,
  created_at timestamptz not null default now(),
  -- Until then the attempt is taken for alive, as long as it has no resource that says more.
  claimed_until timestamptz not null,
  -- Written in the transaction that writes the resource.
  resource_id text,
  -- The answer, sealed under the token of the request; whose id is kept to tell other tokens.
  answer bytea,
  token_id text,
  primary key (org_id, user_id, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);
`;
