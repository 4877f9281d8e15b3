// Which token minted which, so that a token ends with the one that it came from.

export const tokenParents = `
-- Null: made by a bootstrap, or before this was recorded.
alter table api_tokens add column parent_id text references api_tokens (id);
create index api_tokens_by_parent on api_tokens (parent_id) where parent_id is not null;
`;
