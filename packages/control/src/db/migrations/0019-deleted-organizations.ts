// Organizations that are gone. Their rows stay, because what they had and what the audit log tells of names them.

export const deletedOrganizations = `
alter table organizations add column deleted_at timestamptz;
`;
