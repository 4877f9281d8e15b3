// The snapshot that a VM is rolled back to, written down before control gives up anything of that VM.

export const rollbacks = `
-- See Rollback. Null where the sandbox is not on its way to a snapshot.
alter table sandboxes add column rollback jsonb;
-- The snapshot that the machine begins at where its host does not have its own disk any more.
alter table machines add column rollback_to text;
`;
