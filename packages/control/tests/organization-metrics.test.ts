// What metrics tell of organizations, where the operator wants that.

import { sql } from "kysely";
import { beforeAll, expect, test } from "vitest";
import { readConfig } from "../src/app/config.ts";
import { MetricsCollector } from "../src/platform/metrics-collector.ts";
import { parseExposition, valueOf } from "./support/exposition.ts";
import { done, Members } from "./support/members.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
/** By what they hold, most first. */
const organizations: string[] = [];
beforeAll(async () => {
  world.host.memoryMib = 1_000_000;
  await world.beat();
  const members = new Members(world);
  for (const sandboxes of [3, 2, 1, 1]) {
    const { id } = await members.newOrganization();
    organizations.push(id);
    for (let made = 0; made < sandboxes; made += 1) {
      const asked = { body: { template: "base" }, headers: { "x-org-id": id } };
      await done(201, world.call("POST", "/v1/sandboxes", asked));
    }
  }
  const asked = { body: { template: "base" }, headers: { "x-org-id": organizations[0] ?? "" } };
  await done(201, world.call("POST", "/v1/machines", asked));
});

const PLAIN = "text/plain; version=0.0.4; charset=utf-8";

async function scrape(metricsOrganizations: number) {
  const limits = { ...world.context.limits, metricsOrganizations };
  const text = await new MetricsCollector({ ...world.context, limits }).text("prometheus");
  return parseExposition(text, PLAIN);
}

const labels = (found: Awaited<ReturnType<typeof scrape>>) =>
  [...found.series.keys()].filter((key) => key.startsWith("skerry_organization_vm_cpus_reserved"));

test("by default no organization is told of", async () => {
  expect(labels(await scrape(0))).toEqual([]);
  expect((await world.call("GET", "/metrics")).text).not.toMatch(/org_[0-9a-z]{26}/);
});

test("the organizations that hold most are told apart, and the others are one", async () => {
  const found = await scrape(2);
  const [first = "", second = ""] = organizations;
  expect(labels(found)).toHaveLength(3);
  const vms = (organization: string, kind: string) =>
    valueOf(found, "skerry_organization_vms", { organization, kind });
  expect([vms(first, "sandbox"), vms(first, "machine")]).toEqual([3, 1]);
  expect([vms(second, "sandbox"), vms(second, "machine")]).toEqual([2, 0]);
  expect([vms("other", "sandbox"), vms("other", "machine")]).toEqual([2, 0]);
  const memory = (organization: string) =>
    valueOf(found, "skerry_organization_vm_memory_reserved_bytes", { organization });
  expect([memory(first), memory("other")]).toEqual([4 * 256 * 1024 ** 2, 2 * 256 * 1024 ** 2]);
  expect(valueOf(found, "skerry_organization_vm_disk_reserved_bytes", { organization: first })).toBe(
    4 * 1024 ** 3,
  );
});

test("however many organizations there are, there are no more series than were asked for", async () => {
  await sql`
    insert into organizations (id, name) select 'org_' || lpad(n::text, 26, '0'), 'x' from generate_series(1, 500) n`.execute(
    world.db,
  );
  await sql`
    insert into capacity_entries
    select 'org_' || lpad(n::text, 26, '0'), 1, 0, 1, 256, 1 from generate_series(1, 500) n`.execute(
    world.db,
  );
  expect(labels(await scrape(10))).toHaveLength(11);
  const found = await scrape(1_000);
  expect(labels(found)).toHaveLength(504);
  expect(labels(found).join()).not.toContain("other");
});

test("the setting is a whole number up to 1000", () => {
  const read = (value: string) =>
    readConfig({ SKERRY_DATABASE_URL: "postgresql:///x", SKERRY_METRICS_ORGANIZATIONS: value });
  expect(read("250").limits.metricsOrganizations).toBe(250);
  expect(readConfig({ SKERRY_DATABASE_URL: "postgresql:///x" }).limits.metricsOrganizations).toBe(0);
  for (const bad of ["-1", "1001", "many", "1.5"])
    expect(() => read(bad), bad).toThrow("SKERRY_METRICS_ORGANIZATIONS");
});
