// Where builds go: behind what the cache of a host has of them, where there is room.

import { afterEach, beforeEach, expect, test } from "vitest";
import type { Build } from "@skerry/contract/builds/build";
import { hits } from "./support/build-cache.ts";
import { buildNow, builtTemplate, newBuild } from "./support/builds.ts";
import type { FakeHost } from "./support/fake-host.ts";
import { TwoHosts } from "./support/two-hosts.ts";

let two: TwoHosts;

beforeEach(async () => {
  two = await TwoHosts.open();
  const { context } = two.world;
  Object.assign(context, { limits: { ...context.limits, buildCacheGib: 20 } });
});
afterEach(() => two[Symbol.asyncDispose]());

const other = (host: FakeHost): FakeHost => (host === two.first ? two.second : two.first);

async function hostOf({ template_id }: Build): Promise<FakeHost> {
  return two.first.templates.kept.has(String(template_id)) ? two.first : two.second;
}

/** As much memory as this; the hosts are asked how they are. */
async function give(host: FakeHost, memoryMib: number): Promise<void> {
  host.memoryMib = memoryMib;
  await two.ask(host.socketPath);
  await two.world.context.hostCapacity.refreshNow();
}

test("a build goes to the host that has most of it in its cache, although another one has more room", async () => {
  const first = await builtTemplate(two.world, { steps: [{ run: "install" }, { run: "one" }] });
  const having = await hostOf(first);
  await give(other(having), 64_000);
  const second = await builtTemplate(two.world, { steps: [{ run: "install" }, { run: "two" }] });
  expect([await hostOf(second), hits(second)[0]]).toEqual([having, true]);
  // What has nothing in common with it goes where there is most room.
  const third = await builtTemplate(two.world, { name: "api", steps: [{ run: "something else" }] });
  expect(await hostOf(third)).toBe(other(having));
  // Both have something, and one has more of it.
  await give(having, 64_000);
  await give(other(having), 8_000);
  await builtTemplate(two.world, { name: "api", steps: [{ run: "install" }], no_cache: true });
  const fourth = await builtTemplate(two.world, { steps: [{ run: "something else" }, { run: "more" }] });
  expect([await hostOf(fourth), hits(fourth)[0]]).toEqual([other(having), true]);
});

test("where the host with the cache has no room, a build goes to another one and carries its steps out", async () => {
  const first = await builtTemplate(two.world, { steps: [{ run: "install" }, { run: "one" }] });
  const having = await hostOf(first);
  await give(having, 100);
  const second = await newBuild(two.world, { steps: [{ run: "install" }, { run: "two" }] });
  const { host_id, steps } = await buildNow(two.world, second.id);
  const { id } = await two.world.db
    .selectFrom("hosts")
    .select("id")
    .where("name", "=", other(having).name)
    .executeTakeFirstOrThrow();
  expect([host_id, steps.some(({ cache_hit }) => cache_hit)]).toEqual([id, false]);
});

test("a build that wants nothing of the cache goes where there is most room", async () => {
  const first = await builtTemplate(two.world, { steps: [{ run: "install" }] });
  const having = await hostOf(first);
  await give(other(having), 64_000);
  const second = await builtTemplate(two.world, { steps: [{ run: "install" }], no_cache: true });
  expect(await hostOf(second)).toBe(other(having));
});
