// What a tab does that nobody looks at, without a server, and after an upgrade.

import { expect, test } from "vitest";
import type { Asset, DashboardFiles } from "../../control/src/web/dashboard-files.ts";
import { useWorld } from "../../control/tests/support/world.ts";
import { builtFiles, useDashboard } from "./support/browser.ts";

const world = useWorld();
const dashboard = useDashboard(world);

/** For the page: whether the tab is seen. */
const hide = (isHidden: boolean) => `
  Object.defineProperty(document, "hidden", { configurable: true, get: () => ${isHidden} });
  document.dispatchEvent(new Event("visibilitychange"));`;

const isStream = (request: { url(): string }) => new URL(request.url()).pathname === "/v1/events";

test("a tab that nobody sees closes its stream after a while, and goes on where it was", async () => {
  const { page } = dashboard;
  await page.clock.install();
  await dashboard.logIn(world.token, "/sandboxes");
  await page.getByRole("banner").getByText("● live").waitFor();
  await page.getByText("There are no sandboxes.").waitFor();
  const closed = page.waitForEvent("requestfailed", isStream);
  await page.evaluate(hide(true));
  await page.clock.fastForward(31_000);
  await closed;
  await world.createSandbox({ name: "meanwhile" });
  const opened = page.waitForRequest(isStream);
  await page.evaluate(hide(false));
  expect(new URL((await opened).url()).searchParams.get("after")).toMatch(/./);
  await page.getByRole("button", { name: "1 new" }).click();
  await page.getByRole("row").filter({ hasText: "meanwhile" }).waitFor();
});

test("without a server the bar says since when nothing was heard, and with one that it is live again", async () => {
  const { page } = dashboard;
  await page.clock.install();
  await dashboard.logIn(world.token, "/templates");
  await page.getByRole("banner").getByText("● live").waitFor();
  await dashboard.halt();
  await page.clock.fastForward(25_000);
  await page
    .getByRole("status")
    .getByText(/not live since \d\d:\d\d:\d\d/)
    .waitFor();
  expect(await dashboard.faults()).toEqual([]);
  await dashboard.serve(world);
  await expect
    .poll(async () => {
      await page.clock.fastForward(5_000);
      return page.getByRole("banner").getByText("● live").isVisible();
    })
    .toBe(true);
});

test("an old tab after an upgrade says so, and loads itself anew where a file of it is gone", async () => {
  const { page } = dashboard;
  await page.clock.install();
  await dashboard.logIn(world.token, "/templates");
  await page.getByText("base").first().waitFor();
  await dashboard.halt();
  await dashboard.serve(world, upgraded());
  await page.clock.fastForward(6 * 60_000);
  await page.getByRole("button", { name: "New version: reload" }).waitFor();
  const gone = page.waitForEvent("response", (response) => response.status() === 404);
  const loaded = page.waitForEvent("load");
  await page.getByRole("link", { name: "Hosts" }).click();
  dashboard.expectAnswer(`404 ${new URL((await gone).url()).pathname}`);
  await loaded;
  await page.getByRole("heading", { level: 1, name: "Hosts" }).waitFor();
  await page.getByRole("heading", { level: 2, name: "fake" }).waitFor();
  expect(await page.getByRole("button", { name: "New version: reload" }).isVisible()).toBe(false);
});

/** The same dashboard, each program under another name, as where each has changed. */
function upgraded(): DashboardFiles {
  const { page, assets } = builtFiles();
  const programs = [...assets.keys()].filter((name) => name.endsWith(".js"));
  const renamed = (content: Buffer) =>
    Buffer.from(
      programs.reduce(
        (text, name) => text.replaceAll(name, name.replace(/\.js$/, "V2.js")),
        content.toString(),
      ),
    );
  const changed = [...assets].map(([name, asset]): [string, Asset] =>
    programs.includes(name)
      ? [
          name.replace(/\.js$/, "V2.js"),
          { type: asset.type, content: renamed(asset.content), encoded: new Map() },
        ]
      : [name, asset],
  );
  const next = { ...page, content: renamed(page.content), encoded: new Map() };
  return { page: next, etag: '"the next one"', assets: new Map(changed) };
}
