// "Why?" in a real browser: nothing is read before somebody asks, and what is read then becomes one sentence with links.

import { beforeAll, expect, test } from "vitest";
import { mover } from "../../control/src/moves/mover.ts";
import { MachineUpkeep } from "../../control/tests/support/machine-upkeep.ts";
import { useWorld } from "../../control/tests/support/world.ts";
import { useDashboard } from "./support/browser.ts";

const world = useWorld();
const dashboard = useDashboard(world);
const never = new AbortController().signal;
let machine: string;
let destroyed: string;

beforeAll(async () => {
  ({ id: machine } = await world.createMachine({ name: "web-2", restart: { policy: "no" } }));
  const exit = { exit_code: 137, signal: 9, oom_killed: true };
  world.host.end(machine, null, { cause: "out_of_memory", exit });
  await new MachineUpkeep(world).cleanUp();
  ({ id: destroyed } = await world.createSandbox({ name: "gone" }));
  await world.call("DELETE", `/v1/sandboxes/${destroyed}`);
});

test("a machine that failed says how, in its list, with requests only once it is asked", async () => {
  const { page } = dashboard;
  const asked: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith(`/v1/`)) asked.push(pathname);
  });
  await dashboard.logIn(world.token, "/machines");
  const row = page.getByRole("row").filter({ hasText: "web-2" });
  await row.getByRole("button", { name: "Why?" }).waitFor();
  const inLists = asked.filter((path) => path.includes(machine));
  expect(inLists).toEqual([]);
  await row.getByRole("button", { name: "Why?" }).focus();
  await page.keyboard.press("Enter");
  const answer = page.getByRole("group", { name: "Why it is so" });
  await answer.getByText("killed for want of memory: a larger size has more.").waitFor();
  await answer.getByText("Nothing starts it again: its policy is `no`").waitFor();
  expect(asked.filter((path) => path.endsWith(`${machine}/restarts`))).toHaveLength(1);
  expect(await dashboard.faults()).toEqual([]);
  await page.keyboard.press("Escape");
  await answer.waitFor({ state: "hidden" });
  await row.getByRole("button", { name: "Why?" }).click();
  await answer.getByRole("link", { name: "Restarts" }).click();
  await page.getByRole("heading", { name: "How it has ended" }).waitFor();
});

test("a sandbox that is gone says who wanted it, and its page leads to the log", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token, `/sandboxes/${destroyed}`);
  await page.getByRole("button", { name: "Why?" }).click();
  const answer = page.getByRole("group", { name: "Why it is so" });
  await answer.getByText(/Destroyed by request by you .+ ago\./).waitFor();
  await answer.getByRole("link", { name: "Audit log" }).click();
  await page.getByRole("main").getByText("sandbox.destroy").first().waitFor();
});

test("a drain that has nowhere to go says what it waits for, and a service when it ran", async () => {
  const { page } = dashboard;
  const { id } = await world.createSandbox({ name: "stays" });
  const hosts = await world.call<{ items: { id: string }[] }>("GET", "/v1/hosts");
  const host = hosts.body.items[0]?.id ?? "";
  expect((await world.call("POST", `/v1/hosts/${host}/drain`)).status).toBe(200);
  await mover(world.context, 1_000).activate(never);
  await dashboard.logIn(world.token, "/hosts");
  await page.getByRole("button", { name: "Why?" }).click();
  const answer = page.getByRole("group", { name: "Why it is so" });
  await answer
    .getByText(/Its drain was asked for by you .* nowhere to go: no other host is online\./)
    .waitFor();
  await answer.getByText("No other host takes anything now.").waitFor();
  expect(await dashboard.faults()).toEqual([]);
  expect(await answer.getByRole("link", { name: "What it waits for" }).getAttribute("href")).toBe(
    `/ui/sandboxes/${id}`,
  );
  await world.call("POST", `/v1/hosts/${host}/activate`);
  await page.goto(`${dashboard.url}/ui/services`);
  const row = page.getByRole("row").filter({ hasText: "sandbox-reaper" });
  await row.getByRole("button", { name: "Why?" }).click();
  await page.getByRole("group", { name: "Why it is so" }).getByText("It has not run yet").waitFor();
});
