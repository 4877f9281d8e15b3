// Changes of the environment of apps that wait for the next deploy.

import { changeOfApps } from "./0087-app-changes.ts";

export const stagedEnv = `
-- Variables by name; null: it is taken away.
alter table apps add column staged_env jsonb not null default '{}';
-- Changes that its release took over, for as long as it may end without being live; null: none.
alter table deploys add column staged_env jsonb;
drop trigger apps_app_change_noted on apps;
${changeOfApps(["staged_env"])}`;
