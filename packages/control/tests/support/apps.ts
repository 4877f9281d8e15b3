// Apps in a world: calls, and turns of the services that make them come true.

import { sql } from "kysely";
import { beforeEach, expect } from "vitest";
import type { App } from "@skerry/contract/apps/app";
import type { Deploy } from "@skerry/contract/apps/deploy";
import { appDeployer } from "../../src/apps/app-deployer.ts";
import { vmReconciler } from "../../src/platform/vm-reconciler.ts";
import type { World } from "./world.ts";

const never = new AbortController().signal;

export const WEB = {
  template: "base",
  processes: { web: { command: "serve" } },
  services: [{ group: "web", port: 8080, check: { path: "/health", port: 8080 } }],
};

export function useApps(world: World) {
  beforeEach(async () => {
    world.host.memoryMib = 1_000_000;
    world.host.cpus = 64;
    await world.beat();
    await sql`delete from apps`.execute(world.db);
    world.host.edge.sessions.clear();
  });

  const turn = async (): Promise<void> => {
    await appDeployer(world.context, 10_000).activate(never);
    await vmReconciler(world.context, 1_000).activate(never);
  };
  const newApp = async (name = "shop", body: object = {}): Promise<App> =>
    (await world.call<App>("POST", "/v1/apps", { body: { name, ...body } })).body;
  const getApp = async (name = "shop"): Promise<App> =>
    (await world.call<App>("GET", `/v1/apps/${name}`)).body;
  const deploy = async (body: object = WEB, name = "shop"): Promise<Deploy> => {
    const answer = await world.call<Deploy>("POST", `/v1/apps/${name}/deploys`, { body });
    expect(`${answer.status} ${answer.text}`).toMatch(/^201/);
    return answer.body;
  };
  const getDeploy = async ({ id, app_id: app }: Pick<Deploy, "id" | "app_id">): Promise<Deploy> =>
    (await world.call<Deploy>("GET", `/v1/apps/${app}/deploys/${id}`)).body;

  /** Each check that the host was told passes. */
  const pass = async (host = world.host): Promise<void> => {
    for (const id of host.checks.told.keys())
      if (host.vms.has(id)) host.checks.find(host, id, { status: "passing" });
    await vmReconciler(world.context, 1_000).activate(never);
  };

  const untilLive = async (one: Deploy, host = world.host): Promise<void> => {
    for (let tries = 0; (await getDeploy(one)).status !== "live"; tries += 1) {
      expect(tries, JSON.stringify([await getDeploy(one), await getApp()])).toBeLessThan(20);
      await turn();
      await pass(host);
    }
    // Processes of instances that were replaced end.
    await turn();
    await turn();
  };
  return { turn, newApp, getApp, deploy, getDeploy, pass, untilLive };
}
