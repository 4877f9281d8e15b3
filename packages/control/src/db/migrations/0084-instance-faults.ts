// Faults of instances that serve, as the health checker finds them.

export const instanceFaults = `
alter table app_instances
  -- Why it is not well; null: nothing is known against it.
  add column fault text,
  -- Looks in a row that found one of its own.
  add column fault_count integer not null default 0;
`;
