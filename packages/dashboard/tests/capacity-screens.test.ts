// Hosts and their capacity in a real browser, and a drain that is seen travelling.

import { afterAll, beforeAll, expect, test } from "vitest";
import { heartbeat } from "../../control/src/hosts/heartbeat.ts";
import { mover } from "../../control/src/moves/mover.ts";
import { FakeHost } from "../../control/tests/support/fake-host.ts";
import { useWorld } from "../../control/tests/support/world.ts";
import { useDashboard } from "./support/browser.ts";

const GIB = 1024 ** 3;
const world = useWorld();
const dashboard = useDashboard(world);
const second = new FakeHost();
const never = new AbortController().signal;

async function beat(host: FakeHost): Promise<void> {
  await heartbeat(world.context, { hostSocket: host.socketPath, everyMs: 1_000, graceMs: 0 }).activate(never);
}

beforeAll(async () => {
  await world.createSandbox({ name: "traveller" });
  second.name = "second";
  second.usage = {
    cpu_seconds: { user: 1, system: 1, idle: 1, iowait: 0, steal: 0 },
    ...{
      memory_bytes: 8 * GIB,
      memory_available_bytes: 5 * GIB,
      disk_bytes: 9 * GIB,
      disk_free_bytes: 4 * GIB,
    },
    ...{ network_received_bytes: 0, network_sent_bytes: 0, warm_pool: { waiting: 0, taken: 0, missed: 0 } },
  };
  await second.start();
  await beat(second);
});
afterAll(() => second[Symbol.asyncDispose]());

test("all hosts together say what is promised, what is used and what still fits", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token, "/hosts");
  const capacity = page.locator("section").filter({ has: page.getByRole("heading", { name: "Capacity" }) });
  await capacity.getByText("256 MiB of 8.0 GiB").waitFor();
  await capacity.getByText("3.0 GiB of 8.0 GiB").waitFor();
  await capacity.getByText("31 × shared-cpu-1x").waitFor();
  await capacity.getByText("2 of 2 hosts").waitFor();
});

test("a drain is seen travelling, from the one bar to the other, without a button", async () => {
  const { page } = dashboard;
  const sending = Promise.withResolvers<void>();
  world.host.moves.before = (step) => (step === "send" ? sending.promise : Promise.resolve());
  await dashboard.logIn(world.token, "/hosts");
  const guests = (host: string) => page.getByRole("list", { name: `Guests on ${host}` }).getByRole("link");
  await guests("fake").getByText("traveller, running").waitFor({ state: "attached" });
  const first = page
    .locator("section")
    .filter({ has: page.getByRole("heading", { name: "fake", exact: true }) });
  await first.getByRole("button", { name: /^Drain/ }).click();
  await first
    .getByRole("group", { name: /gets nothing new/ })
    .getByRole("button", { name: /^Drain/ })
    .click();
  await first.getByText("1 left: 0 on their way, 1 still wait. 0 arrived so far.").waitFor();
  const moved = mover(world.context, 1_000).activate(never);
  try {
    await first.getByText("1 left: 1 on their way, 0 still wait.").waitFor();
    await guests("fake").getByText("traveller, on its way to second: sending").waitFor({ state: "attached" });
    await guests("second").getByText("on its way from fake: sending").waitFor({ state: "attached" });
    await page.getByRole("list", { name: "Leaving fake" }).getByText("256 MiB of memory").waitFor();
    expect(await dashboard.faults()).toEqual([]);
  } finally {
    sending.resolve();
    await moved;
  }
  await guests("second").getByText("traveller, running").waitFor({ state: "attached" });
  await first.getByText("0 left: 0 on their way, 0 still wait. 1 arrived so far.").waitFor();
});
