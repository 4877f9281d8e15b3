// Deploys that are live and watched, and go back by themselves.

export const watchedDeploys = `
alter table deploys
  -- The release that was live before; null: none.
  add column previous integer,
  -- Until then it goes back where its instances end or fail their checks; null: it does not.
  add column watched_until timestamptz,
  -- It brings back a release by itself, and is not watched.
  add column is_rollback boolean not null default false;
create index watched_deploys on deploys (watched_until) where watched_until is not null;
`;
