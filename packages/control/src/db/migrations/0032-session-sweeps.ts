// Sessions of browsers are found when they have ended: each login leaves one.

export const sessionSweeps = `
create index api_tokens_sessions on api_tokens (created_at) where idle_s is not null;
`;
