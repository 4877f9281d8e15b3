// Hosts and their capacity in a real browser, and a drain that is seen travelling.

import { afterAll, beforeAll, expect, test } from "vitest";
import { heartbeat } from "../../control/src/hosts/heartbeat.ts";
import { drainFinisher } from "../../control/src/moves/drain-finisher.ts";
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
  for (const host of ["fake", "second"]) await page.getByText(`Guests on ${host}:`).click();
  await guests("fake").getByText("traveller, running").waitFor();
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
    await guests("fake").getByText("traveller, on its way to second: sending").waitFor();
    await guests("second").getByText("on its way from fake: sending").waitFor();
    await page.getByRole("list", { name: "Leaving fake" }).getByText("256 MiB of memory").waitFor();
    expect(await dashboard.faults()).toEqual([]);
  } finally {
    sending.resolve();
    await moved;
  }
  await guests("second").getByText("traveller, running").waitFor();
  await first.getByText("0 left: 0 on their way, 0 still wait. 1 arrived so far.").waitFor();
  await drainFinisher(world.context, 1_000).activate(never);
  await first.getByText("maintenance").first().waitFor();
  await guests("second").getByText("traveller, running").click();
  await page.getByRole("heading", { level: 1 }).getByText("traveller").waitFor();
  const { body } = await world.call<{ items: readonly { id: string; name: string }[] }>("GET", "/v1/hosts");
  const there = body.items.find(({ name }) => name === "second")?.id ?? "";
  await page.getByRole("main").getByText(there).waitFor();
});

test("cells that are too narrow to hit lead to their guests, and so does the list below them", async () => {
  const { page } = dashboard;
  await Promise.all(Array.from({ length: 5 }, (_, at) => world.createSandbox({ name: `narrow-${at}` })));
  await dashboard.logIn(world.token, "/hosts");
  const cell = page.locator(".cell[title^='narrow-3, running']");
  await cell.waitFor();
  // As on a phone.
  await page.setViewportSize({ width: 390, height: 844 });
  expect((await cell.boundingBox())?.width).toBeLessThan(24);
  expect(await dashboard.faults()).toEqual([]);
  const host = (await cell.locator("xpath=ancestor::section").getByRole("heading").textContent()) ?? "";
  await page.getByText(`Guests on ${host}:`).click();
  const listed = page
    .getByRole("list", { name: `Guests on ${host}` })
    .getByRole("link", { name: "narrow-3" });
  const to = await listed.getAttribute("href");
  expect(await dashboard.faults()).toEqual([]);
  await cell.click();
  await page.getByRole("heading", { name: "narrow-3" }).waitFor();
  expect(new URL(page.url()).pathname).toBe(to);
});
