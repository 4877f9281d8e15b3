// What becomes of a machine's disk when its host is lost.

export const disksThatStay = `
-- keep: the machine waits for the host. disposable: it is started on another one, with a new disk.
alter table machines
  add column restart_disk text not null default 'keep' check (restart_disk in ('keep', 'disposable'));
`;
