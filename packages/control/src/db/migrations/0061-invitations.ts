// First tokens of members, which end where they are not used.

export const invitations = `
-- When the token ends once it was used, 'infinity' for never; expires_at until then is when the invitation ends. Null: it is none, or was used.
alter table api_tokens add column after_first_use timestamptz;
`;
