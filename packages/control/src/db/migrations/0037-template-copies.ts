// Templates of organizations on their way to hosts that lack them, and the sizes that hosts have frozen of those that are there.

export const templateCopies = `
alter table template_hosts add column sizes text[] not null default '{}';

create table template_copies (
  template_id text not null references templates (id),
  host_id text not null references hosts (id),
  status text not null,
  -- Frozen there before anything is made of it.
  sizes text[] not null,
  ticket text not null,
  attempts integer not null default 0,
  due_at timestamptz not null default now(),
  reason text,
  primary key (template_id, host_id)
);
create index template_copies_due on template_copies (due_at);
`;
