// A second deploy of an app that has come as far as a test says, beside a release that serves.

import { expect } from "vitest";
import type { Deploy } from "@skerry/contract/apps/deploy";
import type { DeployStatus } from "@skerry/contract/apps/deploy-status";
import { activateBuilder } from "./builds.ts";
import { WEB, type useApps } from "./apps.ts";
import type { World } from "./world.ts";

const { template: _template, ...PROCESSES } = WEB;

/** Statuses in which a deploy is under way. */
export const underWay = [
  "queued",
  "building",
  "releasing",
  "starting",
  "checking",
  "switching",
  "draining",
] as const satisfies readonly DeployStatus[];
type UnderWay = (typeof underWay)[number];

export function useDeploysUnderWay(world: World, apps: ReturnType<typeof useApps>) {
  const { turn, newApp, getApp, deploy, getDeploy, pass, untilLive } = apps;
  const hostMemoryMib = 1_000_000;

  const bring: Readonly<Record<UnderWay, () => Promise<Deploy>>> = {
    queued: () => deploy(),
    building: () => deploy({ ...PROCESSES, build: { context: true, dockerfile: {} } }),
    releasing: () => deploy({ ...WEB, release_command: "migrate" }),
    async starting() {
      // Room for the instance that serves, and no other one.
      world.host.memoryMib = 300;
      await world.beat();
      return deploy();
    },
    checking: () => deploy(),
    async switching() {
      world.host.edge.fault = "HAProxy is not installed on this host";
      return deploy();
    },
    async draining() {
      world.host.edge.sessions.set((await serving()) ?? "", 1);
      return deploy();
    },
  };
  const serving = async () => (await getApp()).instances.find(({ state }) => state === "serving")?.machine_id;

  /** Release 1 serves, and the deploy of release 2 is in this status. Resolves with both. */
  const reach = async (status: UnderWay): Promise<{ deploy: Deploy; before: string }> => {
    await newApp();
    await untilLive(await deploy());
    const before = (await serving()) ?? "";
    const one = await bring[status]();
    for (let turns = 0; (await getDeploy(one)).status !== status; turns += 1) {
      expect(turns, JSON.stringify(await getDeploy(one))).toBeLessThan(10);
      await turn();
      if (status === "switching" || status === "draining") await pass();
    }
    return { deploy: one, before };
  };

  /** Lets everything go on that a status held up, until nothing changes any more. */
  const settle = async (): Promise<void> => {
    world.host.memoryMib = hostMemoryMib;
    world.host.edge.fault = null;
    world.host.edge.sessions.clear();
    await world.beat();
    for (let turns = 0; turns < 8; turns += 1) {
      await turn();
      await pass();
      await activateBuilder(world);
    }
  };
  return { reach, settle };
}
