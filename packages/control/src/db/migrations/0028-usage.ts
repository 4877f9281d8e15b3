// What organizations have had over time, measured once a minute.

export const usage = `
create table usage_samples (
  -- Empty: a mark that this minute was measured. An organization that has no row then had nothing.
  org_id text not null,
  -- Since 1970.
  minute integer not null,
  -- The most at once.
  sandboxes integer not null default 0,
  machines integer not null default 0,
  vcpus integer not null default 0,
  memory_mib bigint not null default 0,
  disk_gib bigint not null default 0,
  created integer not null default 0,
  primary key (org_id, minute)
);
create index usage_samples_by_minute on usage_samples (minute);
create index usage_samples_to_merge on usage_samples (minute) where minute % 10 <> 0;
`;
