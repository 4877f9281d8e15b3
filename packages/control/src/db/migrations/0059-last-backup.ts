// The time of the last backup, so that an operator is told when there has been none for long.

export const lastBackup = `
-- Written once the file is whole, so a backup knows the one before it. Null: there was none.
alter table control_plane add column last_backup_at timestamptz;
`;
