// Apps on simulated hosts.

import { sql } from "kysely";
import type { Database } from "../../src/db/database.ts";

/** So many, each with a live release, an instance that runs and serves, and routes; written past the API. */
export async function fillWithApps(
  db: Database,
  orgId: string,
  { apps, routes }: { readonly apps: number; readonly routes: number },
): Promise<void> {
  const manifest = {
    processes: { web: { command: "serve" } },
    services: [{ group: "web", port: 8080, protocol: "http", check: { path: "/", port: 8080 } }],
    ...{ strategy: "rolling", watch: "0s", drain_timeout: "30s", timeout: "5m" },
  };
  await sql`
    update hosts set status = 'online', facts = jsonb_build_object('edge_door', '192.0.2.1:' || (7000 + number))
    from (select id, row_number() over (order by id) as number from hosts) as numbered
    where hosts.id = numbered.id`.execute(db);
  const ids = sql`generate_series(1, ${apps}::integer) n`;
  const app = sql`'app_' || lpad(n::text, 26, '0')`;
  const machine = sql`'mch_' || lpad(n::text, 26, '0')`;
  await sql`
    insert into apps (id, org_id, name, status, label, scale, live, next_release)
    select ${app}, ${orgId}, 'app-' || n, 'active', 'app-' || n, '{}', 1, 2 from ${ids}`.execute(db);
  await sql`
    insert into releases (app_id, number, template, env, secrets, manifest)
    select ${app}, 1, 'base', '{}', '[]', ${JSON.stringify(manifest)}::jsonb from ${ids}`.execute(db);
  await sql`
    insert into machines (id, org_id, template, size, vcpus, memory_mib, disk_gib, status, execution_id, host_id, env,
                          metadata, egress, stop_timeout_ms, restart_policy, restart_max_retries, restart_disk, started_at,
                          owner_kind, owner_id, owner_name)
    select ${machine}, ${orgId}, 'base', 'shared-cpu-1x', 1, 256, 1, 'running', 'inc_' || n,
           (select id from hosts order by id offset n % (select count(*) from hosts) limit 1), '{}', '{}', '{}', 10000, 'no', 10, 'disposable', now(),
           'app', ${app}, 'app-' || n
    from ${ids}`.execute(db);
  await sql`
    insert into app_instances (machine_id, app_id, release, group_name, number, state, serving_since)
    select ${machine}, ${app}, 1, 'web', 1, 'serving', now() from ${ids}`.execute(db);
  await sql`
    insert into routes (id, app_id, subdomain, path_prefix, group_name, strip_prefix, sticky)
    select 'rte_' || lpad(n::text, 13, '0') || lpad(r::text, 13, '0'), ${app}, '', '/r' || r || '/', 'web', false, false
    from ${ids}, generate_series(1, ${routes}::integer) r`.execute(db);
  await sql`analyze`.execute(db);
}

/** The instance of one of them serves no more, or again. */
export async function flipInstance(db: Database, index: number): Promise<void> {
  await sql`
    update app_instances set state = case when state = 'serving' then 'failed' else 'serving' end
    where app_id = (select id from apps order by id offset ${index} limit 1)`.execute(db);
}
