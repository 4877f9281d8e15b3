// Builds and templates in the browser, with a host that pretends to build.

import { afterEach, expect, test } from "vitest";
import type { Build } from "@skerry/contract/builds/build";
import { IMAGE_DIGEST_FILE } from "@skerry/build-plan/scripts/registry-files";
import { activateBuilder, buildNow, builtTemplate, newBuild } from "../../control/tests/support/builds.ts";
import { useWorld } from "../../control/tests/support/world.ts";
import { useDashboard } from "./support/browser.ts";

const world = useWorld();
const dashboard = useDashboard(world);

afterEach(() => world.host.templates.failures.clear());

const HOSTILE = `echo '<img src=x onerror="document.title=1"><script>document.title=2</script>'`;

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

test("a push to a registry says where to and what the registry has, and leads to its version", async () => {
  const { page } = dashboard;
  const { template_id: id } = await builtTemplate(world, { name: "pushed" });
  const digest = `sha256:${"a".repeat(64)}`;
  const content = Buffer.from(`${digest}\n`);
  world.host.files.set(IMAGE_DIGEST_FILE, { size: content.length, sha256: "", mode: 0o644, content });
  const body = { image: "registry.example/team/web:42", size: "shared-cpu-1x" };
  const push = await world.call<Build>("POST", `/v1/templates/${String(id)}/push`, { body });
  await activateBuilder(world);
  await dashboard.logIn(world.token, `/builds/${push.body.id}`);
  for (const text of ["registry.example/team/web:42", digest])
    await main().getByText(text, { exact: true }).waitFor();
  await page.getByRole("button", { name: "Why?" }).click();
  await page.getByText("The registry has the image, since").waitFor();
  await main().getByRole("link", { name: /^tpl_/ }).click();
  await page.getByRole("heading", { level: 1 }).getByText("pushed:latest").waitFor();
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

test("a build is begun in a form: on a template, with a fault said at its field, and watched to its end", async () => {
  const { page } = dashboard;
  const { template_id: id } = await builtTemplate(world, { name: "below", tag: "1" });
  await dashboard.logIn(world.token, `/templates/${id}`);
  await page.getByRole("link", { name: "Build on it" }).click();
  await page.getByRole("heading", { level: 1, name: "New build" }).waitFor();
  expect(await page.getByLabel("Stands on").inputValue()).toBe(id);
  await page.getByLabel("Template", { exact: true }).fill("Not A Name");
  await page.getByLabel("Commands").fill(`make one\n\n${HOSTILE}\n`);
  dashboard.expectAnswer("400 /v1/templates");
  await page.getByRole("button", { name: "Build", exact: true }).click();
  await page.getByRole("alert").waitFor();
  expect(await page.getByLabel("Template", { exact: true }).getAttribute("aria-invalid")).toBe("true");
  expect(await dashboard.faults()).toEqual([]);
  await page.getByLabel("Template", { exact: true }).fill("above");
  await page.getByLabel("Tag", { exact: true }).fill("2");
  await page.getByRole("button", { name: "Build", exact: true }).click();
  await page.getByRole("heading", { level: 1 }).getByText("above:2").waitFor();
  const steps = page.getByRole("region", { name: "Steps" });
  await steps.getByText(HOSTILE).waitFor();
  await activateBuilder(world);
  await page.getByRole("heading", { level: 1 }).getByText("ready").waitFor();
  expect(await steps.getByRole("row").count()).toBe(4);
});

test.for([
  ["image", "Image", "no reference!", "is not a reference to an image"],
  ["repository", "Repository", "file:///etc", "`git`"],
] as const)("a build of an %s is refused at its field, and begun once that is right", async (wrong) => {
  const [way, label, text, fault] = wrong;
  const right = { image: "docker.io/library/alpine:3", repository: "https://git.example.com/shop.git" };
  const { page } = dashboard;
  await dashboard.logIn(world.token, "/builds");
  await main().getByRole("link", { name: "Build", exact: true }).click();
  await page.getByRole("navigation", { name: "Built of" }).getByRole("link", { name: label }).click();
  await page.getByLabel("Template", { exact: true }).fill(`of-${way}`);
  const field = page.getByLabel(label, { exact: true });
  await field.fill(text);
  dashboard.expectAnswer("422 /v1/templates");
  await page.getByRole("button", { name: "Build", exact: true }).click();
  await page.locator(".field .fault").getByText(fault).waitFor();
  expect(await field.getAttribute("aria-invalid")).toBe("true");
  await field.fill(right[way]);
  await page.getByRole("button", { name: "Build", exact: true }).click();
  await page.getByRole("heading", { level: 1 }).getByText(`of-${way}:latest`).waitFor();
  const [id = ""] = /bld_[a-z0-9]+/.exec(page.url()) ?? [];
  await world.call("POST", `/v1/builds/${id}/cancel`);
});

test("who may not build sees which scope that needs", async () => {
  const { page } = dashboard;
  const body = { name: "looks", scopes: ["templates:read"] };
  const { token } = (await world.call<{ token: string }>("POST", "/v1/auth/tokens", { body })).body;
  await dashboard.logIn(token, "/builds/new");
  await main().getByText("Needs the scope templates:write.").waitFor();
  expect(await page.getByRole("button", { name: "Build", exact: true }).isDisabled()).toBe(true);
});

test("a build says what it may reach and what it was denied, also after its end", async () => {
  const { page } = dashboard;
  const { denied } = world.host;
  const [denial] = denied;
  if (denial === undefined) throw new Error("the host denies nothing");
  const build = await newBuild(world, {
    name: "denied",
    steps: [{ run: "forever" }],
    egress: { mode: "deny_all", allow_domains: ["example.com"] },
  });
  const working = activateBuilder(world);
  await dashboard.logIn(world.token, `/builds/${build.id}`);
  const list = page.getByRole("list", { name: "Denied" });
  await list.getByText(denial.rule, { exact: true }).waitFor();
  await main().getByText("example.com", { exact: true }).waitFor();
  world.host.executions.last.end(7);
  await working;
  world.host.denied = [];
  await page.getByRole("heading", { level: 1 }).getByText("failed").waitFor();
  await page.reload();
  await list.getByText(denial.rule, { exact: true }).waitFor();
  world.host.denied = denied;
});

test("⌘K leads to the form of a build", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("new build");
  await page.getByRole("option", { name: /New build/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "New build" }).waitFor();
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
