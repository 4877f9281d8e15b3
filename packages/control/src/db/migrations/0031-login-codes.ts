// Codes that log a browser in, once: `skerry open` puts one into the address that it opens.

export const loginCodes = `
create table login_codes (
  code_sha256 bytea primary key,
  -- The token that the session is to stand for.
  token_id text not null references api_tokens (id) on delete cascade,
  org_id text not null references organizations (id),
  expires_at timestamptz not null
);
create index login_codes_by_expiry on login_codes (expires_at);
create index login_codes_by_token on login_codes (token_id);
`;
