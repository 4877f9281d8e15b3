// What is left to erase of the environments of destroyed VMs.

export const erasedEnv = `
-- Empty but for rows that a version of before has destroyed.
create index sandboxes_with_env_to_erase on sandboxes (id)
  where status in ('destroying', 'destroyed') and jsonb_path_exists(env, '$.* ? (@ != null)');
create index machines_with_env_to_erase on machines (id)
  where status in ('destroying', 'destroyed') and jsonb_path_exists(env, '$.* ? (@ != null)');
`;
