// The overview in a real browser: what needs somebody, and numbers that lead to what they count.

import { expect, test } from "vitest";
import { usageSampler } from "../../control/src/usage/usage-sampler.ts";
import { MachineUpkeep } from "../../control/tests/support/machine-upkeep.ts";
import { useWorld } from "../../control/tests/support/world.ts";
import { useDashboard } from "./support/browser.ts";

const world = useWorld();
const dashboard = useDashboard(world);

test("when all is well nothing needs anybody, and a machine that fails does, with its reason", async () => {
  const { page } = dashboard;
  const { id } = await world.createMachine({ name: "web-2", restart: { policy: "no" } });
  await dashboard.logIn(world.token);
  await page.getByText("Nothing needs you.").waitFor();
  const exit = { exit_code: 137, signal: 9, oom_killed: false };
  world.host.end(id, null, { cause: "main_exited", exit });
  await new MachineUpkeep(world).cleanUp();
  await page.getByRole("heading", { name: "1 needs you" }).waitFor();
  const needs = page.getByRole("list", { name: "What needs you" });
  await needs.getByText("the main process exited with 137").waitFor();
  await needs.getByRole("button", { name: "Why?" }).click();
  await page.getByText("Its main process exited with 137: it was killed, by SIGKILL.").waitFor();
  expect(await dashboard.faults()).toEqual([]);
  await page.keyboard.press("Escape");
  await needs.getByRole("link", { name: "web-2" }).click();
  await page.getByRole("heading", { level: 1 }).getByText("web-2").waitFor();
});

test("what egress rules have refused in the last day is a number, and leads to where it is explained", async () => {
  const { page } = dashboard;
  const { id } = await world.createSandbox({ name: "refused", egress: { mode: "deny_all" } });
  const measure = () => usageSampler(world.context, 1_000).activate(new AbortController().signal);
  // Before and after, because a minute may begin meanwhile, and only those that were measured count.
  await measure();
  world.host.metrics.denials = {
    items: [{ id, minute: Math.floor(Date.now() / 60_000), packets: 1_204 }],
  };
  await measure();
  await dashboard.logIn(world.token);
  const card = page.locator("section").filter({ has: page.getByRole("heading", { name: "Denied packets" }) });
  await card.getByText("1,204").waitFor();
  await card.getByRole("link", { name: "sandbox" }).click();
  await page.getByRole("link", { name: "refused" }).click();
  await page.getByRole("link", { name: "Egress", exact: true }).click();
  await page.getByRole("button", { name: "Allow this: 203.0.113.9:25" }).waitFor();
});

test("a number of hosts leads to those hosts alone", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token);
  await page.getByRole("link", { name: "online 1" }).click();
  await page.getByRole("heading", { level: 2, name: "fake" }).waitFor();
  await page.getByRole("button", { name: "Only online" }).waitFor();
  await page.goto(`${dashboard.url}/ui/hosts?status=draining`);
  await page.getByText("No host passes the filter.").waitFor();
  await page.getByRole("button", { name: "Only draining" }).click();
  await page.getByRole("heading", { level: 2, name: "fake" }).waitFor();
});

test("what was made in the last day leads to all of it, and machines are counted by status", async () => {
  const { page } = dashboard;
  const { id } = await world.createSandbox({ name: "made-and-gone" });
  await world.createMachine({ name: "counted" });
  await world.call("DELETE", `/v1/sandboxes/${id}`);
  await usageSampler(world.context, 1_000).activate(new AbortController().signal);
  await dashboard.logIn(world.token);
  const card = (name: string) =>
    page.locator("section").filter({ has: page.getByRole("heading", { level: 2, name }) });
  const counted = await world.call<{ counts: { running: number } }>("GET", "/v1/machines?counts=true");
  await card("Machines")
    .getByRole("link", { name: `running ${counted.body.counts.running}` })
    .click();
  await page.getByRole("link", { name: "counted" }).waitFor();
  await page.goBack();
  await card("Made in the last day").getByRole("link", { name: "sandboxes" }).click();
  await page.getByRole("link", { name: "made-and-gone" }).waitFor();
  await page.goBack();
  await card("vCPUs at most").getByRole("link").click();
  await page.getByRole("heading", { level: 2, name: "Limits" }).waitFor();
});
