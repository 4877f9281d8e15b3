// Sessions of browsers: tokens that also end where they are not used.

export const sessions = `
-- Seconds without a request after which it ends; null: it is no session.
alter table api_tokens add column idle_s integer check (idle_s > 0);
`;
