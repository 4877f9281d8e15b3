// Persistent sandboxes that are paused when nothing uses them.

export const idleSandboxes = `
alter table sandboxes add column pause_after_idle_ms integer;
create index sandboxes_pause_after_idle on sandboxes (host_id)
  where status = 'running' and pause_after_idle_ms is not null;
`;
