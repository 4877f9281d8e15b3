// How replicas find out that PostgreSQL's clock was set, and tell that from time that has passed.

import { afterEach, beforeEach, expect, test } from "vitest";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import type { ClockWatch } from "../src/platform/clock-watch.ts";
import { sandboxReaper } from "../src/sandboxes/sandbox-reaper.ts";
import { parseExposition, valueOf } from "./support/exposition.ts";
import {
  SECOND_MS,
  MINUTE_MS,
  HOUR_MS,
  DAY_MS,
  YEAR_MS,
  openStepped,
  type SteppedClock,
} from "./support/stepped-clock.ts";
import type { World } from "./support/world.ts";

const MINUTES = { ofYear: YEAR_MS / MINUTE_MS, ofDay: DAY_MS / MINUTE_MS };

let world: World;
let clock: SteppedClock;
let replica: ClockWatch;
beforeEach(async () => {
  ({ world, clock, replica } = await openStepped());
});
afterEach(() => world[Symbol.asyncDispose]());

const step = (ms: number) => clock.step(ms);
const steps = () => clock.steps();
const shifted = (id: string) => clock.shifted(id);
const reap = () => sandboxReaper(world.context, 1_000, 30).activate(new AbortController().signal);

async function statusOf(id: string): Promise<Sandbox["status"]> {
  return (await world.call<Sandbox>("GET", `/v1/sandboxes/${id}`)).body.status;
}

test("of several replicas one writes the step down, whichever looks first, and all at once", async () => {
  const { id } = await world.createSandbox({ timeout: "1h" });
  const others = [clock.newReplica(), clock.newReplica(), clock.newReplica()];
  for (const other of others) await other.look();
  await step(YEAR_MS);
  await Promise.all([replica, ...others].map((each) => each.look()));
  for (const each of [replica, ...others]) await each.look();
  expect([await steps(), await shifted(id)]).toEqual([[MINUTES.ofYear], MINUTES.ofYear]);
  await step(DAY_MS);
  for (const each of [...others, replica]) await each.look();
  expect([await steps(), await shifted(id)]).toEqual([
    [MINUTES.ofYear, MINUTES.ofDay],
    MINUTES.ofYear + MINUTES.ofDay,
  ]);
});

test("a replica that comes late to a step that another one has written down, and left, takes it as explained", async () => {
  const other = clock.newReplica();
  await other.look();
  await step(YEAR_MS);
  await other.look();
  await clock.pass(10 * MINUTE_MS);
  await replica.look();
  expect(await steps()).toEqual([MINUTES.ofYear]);
});

test("a replica whose machine was suspended alone believes another one that was not", async () => {
  let suspendedMs = 0;
  const laptop = clock.newReplica(() => -suspendedMs);
  await laptop.look();
  await clock.pass(8 * HOUR_MS);
  suspendedMs = 8 * HOUR_MS;
  await replica.look();
  await laptop.look();
  expect(await steps()).toEqual([]);
});

test("where all of control was suspended, that time ends nothing", async () => {
  let suspendedMs = 0;
  const laptop = clock.newReplica(() => -suspendedMs);
  await laptop.look();
  const { id } = await world.createSandbox({ timeout: "1h" });
  await clock.pass(8 * HOUR_MS);
  suspendedMs = 8 * HOUR_MS;
  await reap();
  expect(await statusOf(id)).toBe("running");
  await laptop.look();
  await reap();
  expect([await statusOf(id), await shifted(id)]).toEqual(["running", (8 * HOUR_MS) / MINUTE_MS]);
});

test("a replica that starts just after a step vouches for nothing before the others have found it", async () => {
  const { id } = await world.createSandbox({ timeout: "1h" });
  await step(YEAR_MS);
  let waitedMs = 0;
  const newcomer = clock.newReplica(() => waitedMs);
  await newcomer.look();
  await newcomer.look();
  await reap();
  expect([await statusOf(id), await steps()]).toEqual(["running", []]);
  await replica.look();
  waitedMs = 20 * SECOND_MS;
  await newcomer.look();
  expect([await shifted(id), await steps()]).toEqual([MINUTES.ofYear, [MINUTES.ofYear]]);
});

test("time that has passed while no control ran has passed", async () => {
  const { id } = await world.createSandbox({ timeout: "1h" });
  await clock.pass(2 * HOUR_MS);
  let waitedMs = 0;
  const next = clock.newReplica(() => waitedMs);
  await next.look();
  await reap();
  expect(await statusOf(id)).toBe("running");
  // Meanwhile no other one has known better.
  waitedMs = 20 * SECOND_MS;
  await next.look();
  await reap();
  expect([await statusOf(id), await steps()]).toEqual(["destroyed", []]);
});

test("a clock that is slewed, or a replica that is slow, is no step", async () => {
  for (let look = 0; look < 5; look++) {
    await step(40 * SECOND_MS);
    await replica.look();
  }
  expect(await steps()).toEqual([]);
});

test("the operator learns of a step from the log, the audit log and the metrics", async () => {
  await step(YEAR_MS);
  await replica.look();
  expect(world.log).toContainEqual(
    expect.objectContaining({
      level: 40,
      era: 2,
      stepped_s: expect.closeTo(YEAR_MS / SECOND_MS, -1) as unknown,
    }),
  );
  const { body } = await world.call<{ items: unknown[] }>("GET", "/v1/audit?action=clock.step");
  expect(body.items).toEqual([
    expect.objectContaining({
      actor: expect.objectContaining({ kind: "system", service: "clock" }) as unknown,
      resource: { kind: "clock", id: "era-2", name: null },
    }),
  ]);
  const { text, headers } = await world.call("GET", "/metrics");
  const metrics = parseExposition(text, headers.get("content-type") ?? "");
  expect(valueOf(metrics, "skerry_database_clock_steps_total")).toBe(1);
  expect(valueOf(metrics, "skerry_database_clock_last_step_seconds")).toBeCloseTo(YEAR_MS / SECOND_MS, -1);
});
