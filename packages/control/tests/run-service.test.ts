import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, expectTypeOf, test } from "vitest";
import { cacheCleanup } from "../src/hosts/cache-cleanup.ts";
import { readConfig } from "../src/app/config.ts";
import { runService } from "../src/app/run-service.ts";
import type { ListedManifest } from "../src/app/rooms.ts";
import { allServices } from "../src/app/schedule.ts";
import type { ServiceName } from "../src/context.ts";
import { never, TwoHosts } from "./support/two-hosts.ts";
import { eventually } from "./support/world.ts";
import { startControl } from "./support/replica.ts";

let two: TwoHosts;
beforeEach(async () => {
  two = await TwoHosts.open();
});
afterEach(() => two[Symbol.asyncDispose]());

function config() {
  return readConfig({
    SKERRY_DATABASE_URL: two.world.databaseUrl,
    SKERRY_HOST_SOCKET: two.first.socketPath,
    SKERRY_LOG_LEVEL: "silent",
  });
}

type Declared = Extract<
  ListedManifest,
  { readonly services: readonly unknown[] }
>["services"][number]["name"];

test("every service is declared once, has a row in ARCHITECTURE.md, and its period", () => {
  expectTypeOf<ServiceName>().toEqualTypeOf<Declared>();
  const text = readFileSync(join(import.meta.dirname, "../../../ARCHITECTURE.md"), "utf8");
  const table = text.split("| service ")[1]?.split("\n\n")[0] ?? "";
  const rows = [...table.matchAll(/^\| ([a-z-]+[a-z]) +\|/gm)].map(([, name]) => name);
  expect(rows).toEqual(two.world.context.serviceNames);
  const services = allServices(two.world.context, config()).map(({ service }) => service);
  const periods = Object.fromEntries(services.map(({ name, everyMs }) => [name, everyMs / 1_000]));
  // The interface's figures.
  expect(periods).toMatchObject({
    "host-heartbeat": 10,
    "host-health-monitor": 15,
    "vm-cleanup": 30,
    "cache-cleanup": 600,
    "proxy-health-checker": 10,
    "sandbox-reaper": 10,
  });
});

test("a service can be run once by a command while a control plane runs it too", async () => {
  await using _control = await startControl(two.world);
  const id = await two.sandboxOn(two.first);
  two.first.end(id, "the guest panicked");
  await runService(config(), "vm-cleanup");
  await eventually(async () => (await two.sandbox(id)).status === "failed", "the sandbox has failed");
});

test("hosts are told to clean their caches, and one that cannot does not keep the others from it", async () => {
  await two.first.stop();
  expect(await cacheCleanup(two.world.context, 1_000).activate(never)).toMatchObject({
    examined: 2,
    changed: 3,
    failed: 1,
  });
});
