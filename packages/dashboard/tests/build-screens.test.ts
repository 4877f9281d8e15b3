// Builds and templates in the browser, with a host that pretends to build.

import { afterEach, expect, test } from "vitest";
import { activateBuilder, buildNow, builtTemplate, newBuild } from "../../control/tests/support/builds.ts";
import { useWorld } from "../../control/tests/support/world.ts";
import { useDashboard } from "./support/browser.ts";

const world = useWorld();
const dashboard = useDashboard(world);

afterEach(() => world.host.templates.failures.clear());

const main = () => dashboard.page.getByRole("main");

test("a build is watched step by step and line by line, canceled, and tried again", async () => {
  const { page } = dashboard;
  const build = await newBuild(world, {
    name: "watched",
    steps: [{ run: "first of all" }, { run: "forever" }],
  });
  const working = activateBuilder(world);
  await dashboard.logIn(world.token, "/builds");
  await page.getByRole("row").filter({ hasText: "watched:latest" }).getByRole("link").click();
  const log = page.getByLabel("Log", { exact: true });
  await log.getByText(/\d\d:\d\d:\d\d +1 {2}first of all/).waitFor();
  const row = (nth: number) => page.getByRole("region", { name: "Steps" }).getByRole("row").nth(nth);
  await row(2).getByText("running").waitFor();
  expect(await row(1).innerText()).toMatch(/^1\tfirst of all\t●?\s*done\t\d+ s\t0$/);
  await row(2).getByRole("link").click();
  await page.getByRole("heading", { name: "Log of step 2" }).waitFor();
  expect(await log.innerText()).not.toContain("first of all");
  await page.getByRole("link", { name: "Of all steps" }).click();
  await page.getByRole("button", { name: "Cancel the build" }).click();
  await page.getByRole("button", { name: "Cancel the build: yes" }).click();
  await page.getByRole("heading", { level: 1 }).getByText("canceled").waitFor();
  await working;
  expect((await buildNow(world, build.id)).status).toBe("canceled");
  await page.getByRole("button", { name: "Try again", exact: true }).click();
  await expect.poll(() => page.url()).not.toContain(build.id);
  await page.getByRole("heading", { level: 1 }).getByText("watched:latest").waitFor();
  const [again = ""] = /bld_[a-z0-9]+/.exec(page.url()) ?? [];
  await world.call("POST", `/v1/builds/${again}/cancel`);
  await page.getByRole("heading", { level: 1 }).getByText("canceled").waitFor();
});

test("a build that fails says in which step, in the list too, and leads to what that printed", async () => {
  const { page } = dashboard;
  await newBuild(world, { name: "broken", steps: [{ run: "fine" }, { run: "fail 3" }] });
  await activateBuilder(world);
  await dashboard.logIn(world.token, "/builds?status=failed");
  const row = page.getByRole("row").filter({ hasText: "broken:latest" });
  await row.getByText("exited with 3").waitFor();
  await row.getByRole("button", { name: "Why?" }).click();
  await page.getByText(/It was step 2 of \d, .*: fail 3\./).waitFor();
  await page.getByRole("link", { name: "The log of step 2" }).click();
  await page.getByRole("alert").getByText("build_step_failed").waitFor();
  await page.getByLabel("Log", { exact: true }).getByText("it is broken").waitFor();
  expect(await page.getByLabel("Log", { exact: true }).innerText()).not.toContain("fine");
});

test("a template gets a tag, names what stands on it, and is deleted once nothing does", async () => {
  const { page } = dashboard;
  const { template_id: id } = await builtTemplate(world, { tag: "42" });
  const sandbox = await world.createSandbox({ template: "web:42", name: "stands-on-it" });
  await dashboard.logIn(world.token, "/templates");
  await page.getByRole("row").filter({ hasText: "built in" }).getByRole("link", { name: "base" }).waitFor();
  await page.getByRole("link", { name: "web:42" }).click();
  await page.getByLabel("New tag").fill("stable");
  await page.getByRole("button", { name: "Tag", exact: true }).click();
  await main().getByText("web:stable").waitFor();
  await page.getByRole("button", { name: "Remove web:latest" }).click();
  await page.getByText("web:latest finds nothing any more.").waitFor();
  await page.getByRole("button", { name: "Remove web:latest: yes" }).click();
  await main().getByText("web:latest", { exact: true }).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "stands-on-it" }).waitFor();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByText("cannot be deleted while these stand on it: sandbox stands-on-it.").waitFor();
  dashboard.expectAnswer(`409 /v1/templates/${id}`);
  await page.getByRole("button", { name: "Delete: yes" }).click();
  await page.getByRole("alert").getByText("template_in_use").waitFor();
  await world.call("DELETE", `/v1/sandboxes/${sandbox.id}`);
  await page.reload();
  await main().getByText("Nothing.", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByText("web:42 is lost, and 42, stable find nothing any more.").waitFor();
  await page.getByRole("button", { name: "Delete: yes" }).click();
  await page.getByRole("heading", { level: 1, name: "Templates" }).waitFor();
  await page.getByRole("link", { name: "base" }).waitFor();
  expect(await page.getByRole("link", { name: "web:42" }).count()).toBe(0);
});

test("a template that is deleted while it is looked at says that it is gone", async () => {
  const { template_id: id } = await builtTemplate(world, { name: "short" });
  await dashboard.logIn(world.token, `/templates/${id}`);
  await main().getByText("short:latest").first().waitFor();
  await world.call("DELETE", `/v1/templates/${id}`);
  await main().getByText("It is not there any more.").waitFor();
});

test("a sandbox is made of a version from its page, and leads back to it", async () => {
  const { page } = dashboard;
  const { template_id: id } = await builtTemplate(world, { name: "shop", tag: "7" });
  await dashboard.logIn(world.token, `/templates/${id}`);
  await page.getByRole("link", { name: "New sandbox" }).click();
  await page.getByLabel("Name", { exact: true }).fill("from-shop");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("heading", { level: 1 }).getByText("from-shop").waitFor();
  await main().getByRole("link", { name: /^tpl_/ }).click();
  await page.getByRole("heading", { level: 1 }).getByText("shop:7").waitFor();
  await page.getByRole("link", { name: "from-shop" }).waitFor();
});

test("⌘K finds templates and builds by their names", async () => {
  const { page } = dashboard;
  const build = await builtTemplate(world, { name: "findable", tag: "1" });
  await dashboard.logIn(world.token);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("findable");
  const options = page.getByRole("option", { name: /findable:1/ });
  await options.nth(1).waitFor();
  expect(await options.allInnerTexts()).toEqual(["findable:1 template", "findable:1 build ready"]);
  await options.nth(1).click();
  await expect.poll(() => page.url()).toBe(`${dashboard.url}/ui/builds/${build.id}`);
  await page.getByRole("heading", { level: 1 }).getByText("findable:1").waitFor();
});
