// Deploys that build the template of their release, and commands of the images that templates were made of.

export const appBuilds = `
-- Null until it is built.
alter table releases alter column template drop not null;
alter table deploys add column build_id text;
update deploys set reason = reason || '{"last_lines": []}' where reason is not null;
-- What the image that it was made of runs; null: none, or not known.
alter table templates add column command text;
`;
