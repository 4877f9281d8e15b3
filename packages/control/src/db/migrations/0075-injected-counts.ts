// How often requests of each VM got each secret, as the audit log has it already.

export const injectedCounts = `
create table injected_counts (
  vm_id text primary key references vms (id) on delete cascade,
  -- Hosts count from the start of each incarnation.
  execution_id text not null,
  -- Counts by secret and host, with a space between the two.
  counts jsonb not null
);
`;
