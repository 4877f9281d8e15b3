// What a VM that is rolled back goes on from, written down before anything of it is given up.

export const rollbacks = `
-- See Rollback. Null where the sandbox is not on its way to a snapshot.
alter table sandboxes add column rollback jsonb;
-- The snapshot that the machine begins at where its host does not have its own disk any more.
alter table machines add column rollback_to text;
`;
