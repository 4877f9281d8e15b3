// A restored control plane has to be told apart from the one that it was copied from.

export const controlGeneration = `
-- One row. Null: restored from a backup, and no operator has said yet that its hosts are to obey it.
create table control_plane (
  only_row boolean primary key default true check (only_row),
  generation bigint default 0
);
insert into control_plane default values;
`;
