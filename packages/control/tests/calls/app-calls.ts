import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { World } from "../support/world.ts";
import { call, type Prepare } from "./call.ts";

export const appCalls = {
  createApp: async () => call("POST", "/v1/apps", { name: newName() }),
  getApp: async (world) => call("GET", await newApp(world)),
  updateApp: async (world) => call("PATCH", await newApp(world), { scale: { web: 2 } }),
  deleteApp: async (world) => call("DELETE", await newApp(world)),
  createDeploy: async (world) => call("POST", `${await newApp(world)}/deploys`, { template: "base" }),
  listDeploys: async (world) => call("GET", `${await newApp(world)}/deploys`),
  getDeploy: async (world) => call("GET", await newDeploy(world)),
  cancelDeploy: async (world) => call("POST", `${await newDeploy(world)}/cancel`),
  getAppLogs: async (world) => call("GET", `${await newApp(world)}/logs`),
  listAppFailures: async (world) => call("GET", `${await newApp(world)}/failures`),
  getAppMetrics: async (world) => call("GET", `${await newApp(world)}/metrics`),
  createRoute: async (world) =>
    call("POST", `${await newApp(world)}/routes`, { path_prefix: "/api", group: "web" }),
  listRoutes: async (world) => call("GET", `${await newApp(world)}/routes`),
  deleteRoute: async (world) => {
    const app = await newApp(world);
    const { body } = await world.call<{ id: string }>("POST", `${app}/routes`, { body: { group: "web" } });
    return call("DELETE", `${app}/routes/${body.id}`);
  },
  listAppSecrets: async (world) => call("GET", `${await newApp(world)}/secrets`),
  setAppSecret: async (world) => call("PUT", `${await newApp(world)}/secrets/API_KEY`, { value: "hush" }),
  deleteAppSecret: async (world) => {
    const path = `${await newApp(world)}/secrets/API_KEY`;
    await world.call("PUT", path, { body: { value: "hush" } });
    return call("DELETE", path);
  },
  createOneOff: async (world) => call("POST", `${await liveApp(world)}/one-offs`, {}),
  deleteOneOff: async (world) => {
    const path = `${await liveApp(world)}/one-offs`;
    const { body } = await world.call<{ id: string }>("POST", path, { body: {} });
    return call("DELETE", `${path}/${body.id}`);
  },
  listReleases: async (world) => call("GET", `${await newApp(world)}/releases`),
} satisfies Readonly<Record<string, Prepare>>;

/** Its path. */
async function newApp(world: World): Promise<string> {
  const { body } = await world.call<{ id: string }>("POST", "/v1/apps", { body: { name: newName() } });
  return `/v1/apps/${body.id}`;
}

/** One whose first release is live: what brings it there is not what is called. */
async function liveApp(world: World): Promise<string> {
  const path = await newApp(world);
  await world.call("POST", `${path}/deploys`, { body: { template: "base" } });
  const id = path.slice("/v1/apps/".length);
  await sql`update deploys set status = 'live', finished_at = now() where app_id = ${id}`.execute(world.db);
  await sql`update apps set live = 1 where id = ${id}`.execute(world.db);
  return path;
}

async function newDeploy(world: World): Promise<string> {
  const app = await newApp(world);
  const { body } = await world.call<{ id: string }>("POST", `${app}/deploys`, { body: { template: "base" } });
  return `${app}/deploys/${body.id}`;
}

function newName(): string {
  return `a-${randomUUID().slice(0, 18)}`;
}
