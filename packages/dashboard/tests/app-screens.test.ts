// Apps in the browser: the list, one app with its deploy, its ways, its releases, its environment and its log.

import { expect, test } from "vitest";
import { useApps, WEB } from "../../control/tests/support/apps.ts";
import { useWorld } from "../../control/tests/support/world.ts";
import { useDashboard } from "./support/browser.ts";

const world = useWorld();
const dashboard = useDashboard(world);
const { turn, newApp, getApp, deploy, untilLive } = useApps(world);

test("an app is created, and its page says how it is deployed", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token, "/apps");
  await page.getByText("There are no apps.").waitFor();
  expect(await dashboard.faults()).toEqual([]);
  await page.getByText("Create an app").click();
  await page.getByLabel("Name", { exact: true }).fill("shop");
  await page.getByRole("button", { name: "Create the app", exact: true }).click();
  await page.getByText("skerry deploy --app shop").waitFor();
  expect(await dashboard.faults()).toEqual([]);
});

test("apps that others create, deploy and delete are shown as they change, and are listed once", async () => {
  const { page } = dashboard;
  const reads: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith("/v1/apps")) reads.push(pathname);
  });
  await newApp("first");
  await dashboard.logIn(world.token, "/apps");
  const main = page.getByRole("main");
  await main.getByRole("link", { name: "first", exact: true }).waitFor();
  await page.getByRole("banner").getByText("● live").waitFor();
  await newApp();
  const row = main.getByRole("row").filter({ hasText: "shop" });
  await row.waitFor();
  expect(await main.getByRole("row").allInnerTexts()).toEqual([
    expect.stringContaining("Name"),
    expect.stringContaining("shop"),
    expect.stringContaining("first"),
  ]);
  await untilLive(await deploy());
  await row.getByText("live").waitFor();
  await world.call("DELETE", "/v1/apps/first");
  await turn();
  await main.getByRole("link", { name: "first", exact: true }).waitFor({ state: "detached" });
  expect(reads).toEqual(["/v1/apps"]);
});

test("the page of an app that is gone says so", async () => {
  const { page } = dashboard;
  const { id } = await newApp();
  await dashboard.logIn(world.token, `/apps/${id}`);
  await page.getByText("skerry deploy --app shop").waitFor();
  await page.getByRole("banner").getByText("● live").waitFor();
  await world.call("DELETE", "/v1/apps/shop");
  await turn();
  await page.getByText("It is not there any more.").waitFor();
});

test("a deploy is followed on the page, and what serves leads to its machine", async () => {
  const { page } = dashboard;
  await newApp();
  await untilLive(await deploy({ ...WEB, env: { LOG_LEVEL: "info" } }));
  const [instance] = (await getApp()).instances;
  world.host.console.print(instance?.machine_id ?? "", "listening on 8080\nGET /health\n");
  await dashboard.logIn(world.token, "/apps");
  await page.getByRole("link", { name: "shop", exact: true }).click();
  await page.getByText("Deploy of release 1").waitFor();
  const main = page.getByRole("main");
  for (const text of ["shop.localhost/", "web.1", "LOG_LEVEL", "listening on 8080", "1, live"])
    await main.getByText(text, { exact: false }).first().waitFor();
  expect(await dashboard.faults()).toEqual([]);
  await page.getByLabel("Search").fill("GET");
  await page.keyboard.press("Enter");
  await main.getByText("listening on 8080").waitFor({ state: "detached" });
  await main.getByText("GET /health").waitFor();
  await deploy({ ...WEB, processes: { web: { command: "serve more" } } });
  await page.getByText("Deploy of release 2").waitFor();
  await turn();
  await page.getByRole("list", { name: "Statuses" }).getByText("checking").waitFor();
  await page
    .locator("[aria-current=step]")
    .getByText(/starting|checking/)
    .waitFor();
  await page.getByRole("button", { name: "Cancel the deploy", exact: true }).click();
  await page.getByRole("button", { name: "Cancel the deploy: yes" }).click();
  await main.getByText("canceled").first().waitFor();
  await page.getByRole("link", { name: "web.1" }).click();
  await page.getByRole("heading", { level: 1 }).getByText("shop/web.1").waitFor();
});

test("a release that failed says why, and an earlier one is deployed again", async () => {
  const { page } = dashboard;
  await newApp();
  await untilLive(await deploy());
  await deploy({ ...WEB, processes: { web: { command: "exit 3" } } });
  await turn();
  const failing = (await getApp()).instances.find(({ release }) => release === 2)?.machine_id ?? "";
  world.host.console.print(failing, "<b>boom</b>\n");
  world.host.end(failing, "the main process exited with 3");
  for (let tries = 0; (await getApp()).deploy?.status !== "failed"; tries += 1) {
    expect(tries).toBeLessThan(20);
    await turn();
  }
  await dashboard.logIn(world.token, `/apps/${(await getApp()).id}`);
  await page.getByRole("alert").getByText("web.2 ended").waitFor();
  await page.getByLabel("Its last lines").getByText("<b>boom</b>").waitFor();
  await page.getByRole("button", { name: "Deploy again release 1", exact: true }).click();
  await page.getByText("Deploy of release 3").waitFor();
});

test("an app is scaled, has secrets of its own that no page shows, and is deleted", async () => {
  const { page } = dashboard;
  await newApp();
  await untilLive(await deploy());
  const { id } = await getApp();
  await dashboard.logIn(world.token, `/apps/${id}`);
  await page.getByText("Scale it").click();
  await page.getByLabel("web", { exact: true }).fill("3");
  await page.getByRole("button", { name: "Scale the app", exact: true }).click();
  await expect.poll(async () => (await getApp()).scale).toEqual({ web: 3 });
  await page.getByText("Set a secret of the app").click();
  await page.getByLabel("Name", { exact: true }).fill("API_KEY");
  await page.getByLabel("Value").fill("hush-hush");
  await page.getByRole("button", { name: "Set the secret", exact: true }).click();
  await page.getByText("API_KEY has version 1 now. The next deploy has the change.").waitFor();
  expect(await page.content()).not.toContain("hush-hush");
  expect(await dashboard.faults()).toEqual([]);
  await page.getByRole("button", { name: "Delete API_KEY", exact: true }).click();
  await page.getByRole("button", { name: "Delete API_KEY: yes" }).click();
  await page.getByText("API_KEY is deleted.").waitFor();
  await page.getByRole("button", { name: "Delete the app", exact: true }).click();
  await page.getByRole("button", { name: "Delete the app: yes" }).click();
  await page.getByRole("heading", { level: 1, name: "Apps" }).waitFor();
  expect((await getApp()).status).toBe("deleting");
});
