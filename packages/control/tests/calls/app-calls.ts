import { randomUUID } from "node:crypto";
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
  createRoute: async (world) =>
    call("POST", `${await newApp(world)}/routes`, { path_prefix: "/api", group: "web" }),
  listRoutes: async (world) => call("GET", `${await newApp(world)}/routes`),
  deleteRoute: async (world) => {
    const app = await newApp(world);
    const { body } = await world.call<{ id: string }>("POST", `${app}/routes`, { body: { group: "web" } });
    return call("DELETE", `${app}/routes/${body.id}`);
  },
  listReleases: async (world) => call("GET", `${await newApp(world)}/releases`),
} satisfies Readonly<Record<string, Prepare>>;

/** Its path. */
async function newApp(world: World): Promise<string> {
  const { body } = await world.call<{ id: string }>("POST", "/v1/apps", { body: { name: newName() } });
  return `/v1/apps/${body.id}`;
}

async function newDeploy(world: World): Promise<string> {
  const app = await newApp(world);
  const { body } = await world.call<{ id: string }>("POST", `${app}/deploys`, { body: { template: "base" } });
  return `${app}/deploys/${body.id}`;
}

function newName(): string {
  return `a-${randomUUID().slice(0, 18)}`;
}
