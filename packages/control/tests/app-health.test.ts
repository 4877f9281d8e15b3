// Instances that are not well: why, as it is shown, and others that take their places.

import { expect, test, vi } from "vitest";
import type { EdgeState } from "@skerry/contract/host-api/edge";
import type { App } from "@skerry/contract/apps/app";
import { faultOf, UNWELL_AT, type Looked } from "../src/apps/edge/instance-faults.ts";
import { proxyHealthChecker } from "../src/apps/edge/proxy-health.ts";
import { vmReconciler } from "../src/platform/vm-reconciler.ts";
import { never } from "./support/two-hosts.ts";
import { useApps, WEB } from "./support/apps.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const { turn, newApp, getApp, deploy, pass, untilLive } = useApps(world);

/** A look of the checker, after one of the service that reads what hosts found. */
const look = async (): Promise<void> => {
  await vmReconciler(world.context, 1_000).activate(never);
  await proxyHealthChecker(world.context, 10_000).activate(never);
};
const served = () => world.host.edge.served()["web"] ?? [];
const failing = (id: string) =>
  world.host.checks.find(world.host, id, { status: "failing", reason: "GET /health answered 500" });
const shown = ({ instances }: App) => instances.map(({ name, state, fault }) => [name, state, fault]);

async function liveApp(): Promise<[string, string]> {
  await newApp("shop", { scale: { web: 2 } });
  await untilLive(await deploy({ ...WEB, watch: "0s" }));
  const [one = "", other = ""] = served();
  return [one, other];
}

test("one whose check goes on failing is replaced when the next one is well, and both tell why", async () => {
  const [sick, well] = await liveApp();
  failing(sick);
  await look();
  expect(shown(await getApp())).toContainEqual([
    "web.1",
    "serving",
    "its check fails: GET /health answered 500",
  ]);
  await turn();
  expect(served().toSorted()).toEqual([sick, well].toSorted());
  for (let round = 1; round < UNWELL_AT; round += 1) await look();
  await turn();
  // The next one starts beside it.
  expect((await getApp()).instances.map(({ state }) => state)).toEqual(["serving", "serving", "starting"]);
  expect(served()).toContain(sick);
  for (const id of world.host.vms.keys())
    if (id !== sick && world.host.checks.told.has(id)) world.host.checks.find(world.host, id, PASSING);
  await look();
  for (let round = 0; round < 4; round += 1) await turn();
  expect(served()).not.toContain(sick);
  expect(served()).toHaveLength(2);
  expect(world.host.vms.has(sick)).toBe(false);
  await look();
  expect((await getApp()).instances.map(({ fault }) => fault)).toEqual([null, null]);
});
const PASSING = { status: "passing" } as const;

test("where all are unwell all go on serving, and their replacements that are not well either end", async () => {
  const both = await liveApp();
  for (let round = 0; round < UNWELL_AT; round += 1) {
    both.forEach(failing);
    await look();
  }
  await turn();
  const next = (await getApp()).instances.find(({ state }) => state === "starting")?.machine_id ?? "";
  await turn();
  for (let round = 0; round < UNWELL_AT; round += 1) {
    failing(next);
    await look();
  }
  await turn();
  await turn();
  expect(world.host.vms.has(next)).toBe(false);
  expect(served().toSorted()).toEqual(both.toSorted());
  // They recover, and nothing is left of it.
  await pass();
  await look();
  for (let round = 0; round < 4; round += 1) await turn();
  expect(shown(await getApp()).map(([, ...state]) => state)).toEqual([
    ["serving", null],
    ["serving", null],
  ]);
  expect(served()).toHaveLength(2);
});

test("a host that lost its document gets it again", async () => {
  await liveApp();
  const { version } = world.host.edge.document;
  world.host.edge.document = { version: 0, backends: [], routes: [] };
  await look();
  expect((await getApp()).instances[0]?.fault).toBe("the proxy on its host does not know it");
  vi.spyOn(performance, "now").mockReturnValue(performance.now() + 11_000);
  await turn();
  vi.restoreAllMocks();
  expect(world.host.edge.document.version).toBeGreaterThan(version);
  expect(served()).toHaveLength(2);
});

const seat = {
  ...{ backend: "a:web:http", vm: "mch_1", execution_id: "exe_1", port: 8080 },
  ...{ status: "serving", sessions: 0 },
} as const;
const edge = (change: object = {}) => ({ version: 7, fault: null, instances: [{ ...seat, ...change }] });
const one: Looked = {
  ...{ machine_id: "mch_1", state: "serving", fault: null, host_id: "hst_1", execution_id: "exe_1" },
  ...{ health: null, check_version: 1, has_service: true },
};
const ill = { status: "failing", reason: "no answer", execution_id: "exe_1", version: 1 } as const;

const SILENT = "its host does not answer";

test.each([
  ["well", [one, edge()], undefined, false],
  ["failing", [{ ...one, health: ill }, edge()], "its check fails: no answer", true],
  ["failing as it was before", [{ ...one, health: ill, check_version: 2 }, edge()], undefined, false],
  ["failing as another one", [{ ...one, health: ill, execution_id: "exe_2" }, undefined], SILENT, false],
  ["out", [one, edge({ status: "out" })], "the proxy on its host gives it no requests", true],
  ["not seated", [one, edge({ execution_id: "exe_0" })], "the proxy on its host does not know it", true],
  ["behind a fault", [one, { ...edge(), fault: "odd" }], "its host does not serve apps: odd", false],
  ["without a service", [{ ...one, has_service: false }, undefined], undefined, false],
  ["starting", [{ ...one, state: "starting" as const }, undefined], undefined, false],
])("an instance that is %s", (_name, [looked, state], fault, counts) => {
  expect(faultOf(looked as Looked, state as EdgeState | undefined)).toEqual({ fault, counts });
});
