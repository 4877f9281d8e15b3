// What hosts keep of an organization's templates beside their files: the memory of each size that was frozen.

export const frozenMemory = `
create table template_frozen (
  template_id text not null references templates (id),
  size text not null,
  -- A file as large as the memory of the size.
  memory_mib integer not null,
  primary key (template_id, size)
);
-- Of templates from before, the size that every build freezes unless it says otherwise.
insert into template_frozen (template_id, size, memory_mib) select id, 'shared-cpu-1x', 256 from templates where status = 'ready';
`;
