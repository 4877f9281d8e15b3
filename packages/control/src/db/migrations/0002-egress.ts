// Egress policies that change while a sandbox runs.

export const egress = `
-- The wish is counted, and so is what the host has confirmed; where they differ the reconciler applies the policy again.
alter table sandboxes
  add column egress_version integer not null default 1,
  add column egress_applied integer not null default 0;

-- Until now a sandbox had no way out and no resolver, which is what its microVM was started with.
update sandboxes set egress = egress || '{"dns": false}', egress_applied = 1;
`;
