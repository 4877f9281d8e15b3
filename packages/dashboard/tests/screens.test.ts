import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeAll, expect, test } from "vitest";
import { builtTemplate } from "../../control/tests/support/builds.ts";
import { useWorld } from "../../control/tests/support/world.ts";
import { useDashboard } from "./support/browser.ts";

const world = useWorld();
const dashboard = useDashboard(world);
const HOSTILE = `<img src=x onerror="document.body.dataset.hacked=1">`;
let sandbox: string;
let machine: string;

beforeAll(async () => {
  const body = { template: "base", name: HOSTILE, metadata: { note: HOSTILE }, egress: { mode: "deny_all" } };
  const created = await world.call<{ id: string }>("POST", "/v1/sandboxes", { body });
  sandbox = created.body.id;
  await world.call("POST", `/v1/sandboxes/${sandbox}/snapshots`, { body: { name: "before" } });
  const made = await world.call<{ id: string }>("POST", "/v1/machines", {
    body: { template: "base", name: "web-2" },
  });
  machine = made.body.id;
  await builtTemplate(world, { tag: "42" });
});

afterEach(async () => {
  expect(await dashboard.page.locator("body").getAttribute("data-hacked")).toBeNull();
});

test("without a session there is a login, and a wrong token is told so", async () => {
  const { page } = dashboard;
  dashboard.expectAnswer("401 /v1/auth/me");
  dashboard.expectAnswer("401 /v1/auth/sessions");
  await page.goto(`${dashboard.url}/ui/`);
  await page.getByLabel("API token").fill("sk_wrong");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("no valid API token").waitFor();
});

test("who logs in has a cookie that no script reads, and who logs out has none", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token);
  expect(await page.evaluate("document.cookie")).toBe("");
  const [cookie] = await page.context().cookies();
  expect(cookie).toMatchObject({ httpOnly: true, secure: true, sameSite: "Strict" });
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByLabel("API token").waitFor();
  expect(await page.context().cookies()).toEqual([]);
});

const screens = [
  ["Overview", "/", "Made in the last day"],
  ["Apps", "/apps", "There are no apps."],
  ["Machines", "/machines", "web-2"],
  ["Snapshots", "/snapshots", "before"],
  ["Templates", "/templates", "base"],
  ["Builds", "/builds", "web:42"],
  ["Hosts", "/hosts", "Memory promised"],
  ["Background services", "/services", "sandbox-reaper"],
  ["Audit log", "/audit", "sandbox.create"],
  ["New sandbox", "/sandboxes/new", "Timeout"],
  ["New machine", "/machines/new", "Command"],
  ["New build", "/builds/new", "Stands on"],
  ["New build", "/builds/new/image", "Ready by port"],
  ["New build", "/builds/new/repository", "Dockerfile"],
] as const;

for (const colorScheme of ["light", "dark"] as const) {
  test(`each screen shows what there is, and everybody can read it: ${colorScheme}`, async () => {
    const { page } = dashboard;
    await page.emulateMedia({ colorScheme });
    await dashboard.logIn(world.token);
    for (const [heading, path, text] of screens) {
      await page.goto(`${dashboard.url}/ui${path}`);
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
      await page.getByRole("main").getByText(text).first().waitFor();
      expect(await dashboard.faults(), path).toEqual([]);
    }
  });
}

test("a sandbox with a hostile name is text in the list and on its page, on each of its tabs", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token, "/sandboxes");
  await page.getByRole("link", { name: HOSTILE }).click();
  await page.getByRole("heading", { level: 1 }).getByText(HOSTILE).waitFor();
  for (const [tab, text] of [
    ["Files", "Upload"],
    ["Ports", "Nothing listens"],
    ["Egress", "Policy in force"],
    ["Events", "created"],
    ["Metrics", "minute"],
    ["Details", "note="],
  ] as const) {
    await page.getByRole("link", { name: tab, exact: true }).click();
    await page.getByRole("main").getByText(text).first().waitFor();
    expect(await dashboard.faults(), tab).toEqual([]);
  }
});

test("a host shows its guests, each of which leads to its page", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token, "/hosts");
  await page.getByText("Guests on fake:").click();
  await page.getByRole("link", { name: /^web-2, / }).click();
  await page.getByRole("heading", { level: 1 }).getByText("web-2").waitFor();
});

test("a machine shows its console, its restarts and its details", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token, `/machines/${machine}`);
  await page.getByRole("heading", { name: "Console" }).waitFor();
  await page.getByRole("link", { name: "Restarts" }).click();
  await page.getByText("It has not ended yet.").waitFor();
  await page.getByRole("link", { name: "Details" }).click();
  await page.getByText("Restart policy").waitFor();
});

test("a machine and a sandbox are changed where their details are, and what waits for a start is told", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token, `/machines/${machine}/details`);
  await page.getByText("Change it").click();
  await page.getByLabel("Command", { exact: true }).fill("exec new");
  await page.getByLabel("Size", { exact: true }).selectOption("shared-cpu-2x");
  await page.getByRole("button", { name: "Change the machine", exact: true }).click();
  await page.getByText("size shared-cpu-2x, command exec new").waitFor();
  const changed = await world.call("GET", `/v1/machines/${machine}`);
  expect(changed.body).toMatchObject({
    name: "web-2",
    stop_timeout: "10s",
    pending: { size: "shared-cpu-2x", command: "exec new" },
  });
  const made = await world.createSandbox({ name: "desk" });
  await page.goto(`${dashboard.url}/ui/sandboxes/${made.id}`);
  await page.getByText("Change it").click();
  await page.getByLabel("Name", { exact: true }).fill("");
  await page.getByRole("button", { name: "Change the sandbox", exact: true }).click();
  await page.getByRole("heading", { level: 1 }).getByText("desk").waitFor({ state: "detached" });
  expect((await world.call("GET", `/v1/sandboxes/${made.id}`)).body["name"]).toBeNull();
});

test("what others make is told above the list, and what they end is marked in its row, while nothing moves", async () => {
  const { page } = dashboard;
  const body = { template: "base", name: "first" };
  const first = await world.call<{ id: string }>("POST", "/v1/sandboxes", { body });
  await dashboard.logIn(world.token, "/sandboxes");
  const row = page.getByRole("row").filter({ hasText: "first" });
  await row.getByText("running").waitFor();
  await world.call("POST", "/v1/sandboxes", { body: { template: "base", name: "second" } });
  await page.getByRole("button", { name: "1 new" }).waitFor();
  await world.call("DELETE", `/v1/sandboxes/${first.body.id}`);
  await row
    .getByText(/destroy/)
    .first()
    .waitFor();
  await page.getByRole("button", { name: "1 new" }).click();
  await page.getByRole("row").filter({ hasText: "second" }).waitFor();
});

test("with keys alone: jump to the list, make a sandbox, find it again, destroy it", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token);
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await page.getByRole("heading", { level: 1, name: "Sandboxes" }).waitFor();
  await page.getByRole("link", { name: "New sandbox" }).focus();
  await page.keyboard.press("Enter");
  await page.getByLabel("Name", { exact: true }).focus();
  await page.keyboard.type("by-keys");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1 }).getByText("by-keys").waitFor();
  await page.keyboard.press("Control+k");
  await page.locator("dialog input:focus").waitFor();
  await page.keyboard.type("by-k");
  await page.getByRole("option", { name: "by-keys" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Destroy" }).focus();
  await page.keyboard.press("Enter");
  await page
    .getByRole("group")
    .getByRole("button", { name: /^Destroy/ })
    .focus();
  await page.keyboard.press("Enter");
  await page
    .getByRole("heading", { level: 1 })
    .getByText(/destroy/)
    .first()
    .waitFor();
});

test("a session ends with the token that it stands for", async () => {
  const { page } = dashboard;
  const minted = await world.call<{ id: string; token: string }>("POST", "/v1/auth/tokens", {
    body: { name: "short" },
  });
  await dashboard.logIn(minted.body.token, "/sandboxes");
  for (const path of ["/v1/events", "/v1/sandboxes"]) dashboard.expectAnswer(`401 ${path}`);
  await world.call("DELETE", `/v1/auth/tokens/${minted.body.id}`);
  await page.getByLabel("API token").waitFor();
});

test("what was refused is allowed after its change was seen, and what came of it is told", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token, `/sandboxes/${sandbox}/egress`);
  await page.getByRole("button", { name: "Allow this: 203.0.113.9:25" }).click();
  await page.getByRole("list", { name: "What changes" }).getByText("203.0.113.9/32").waitFor();
  const before = await world.call<{ allow_cidrs: string[] }>("GET", `/v1/sandboxes/${sandbox}/egress`);
  expect(before.body.allow_cidrs).toEqual([]);
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await page.getByText(/Since then: \d+ passed, \d+ denied/).waitFor();
  const after = await world.call<{ allow_cidrs: string[] }>("GET", `/v1/sandboxes/${sandbox}/egress`);
  expect(after.body.allow_cidrs).toEqual(["203.0.113.9/32"]);
});

test("a page of another port, with the user's cookie, reads nothing and changes nothing", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token);
  const other = createServer((_request, response) => {
    response
      .writeHead(200, { "content-type": "text/html" })
      .end("<!doctype html><html lang=en><title>other</title><main>other</main>");
  });
  await once(other.listen(0, "127.0.0.1"), "listening");
  try {
    const { port } = other.address() as AddressInfo;
    const before = await world.call<{ counts: object }>("GET", "/v1/sandboxes?counts=true");
    for (const path of ["/v1/sandboxes", "/v1/events"]) dashboard.expectAnswer(`401 ${path}`);
    dashboard.expectAnswer(`401 /v1/sandboxes/${sandbox}`);
    dashboard.expectRefusals();
    await page.goto(`http://127.0.0.1:${port}/`);
    const told = await page.evaluate(attack, { url: dashboard.url, sandbox });
    const after = await world.call<{ counts: object }>("GET", "/v1/sandboxes?counts=true");
    expect(after.body.counts).toEqual(before.body.counts);
    expect(told).toEqual({ read: "refused", followed: "refused", made: "refused", socket: "refused" });
  } finally {
    other.close();
  }
  const found = await world.call("GET", `/v1/sandboxes/${sandbox}`);
  expect(found.body).toMatchObject({ status: "running" });
});

/** Runs in the page: each way to reach another server with the cookies that the browser has for it. */
async function attack({ url, sandbox: id }: { readonly url: string; readonly sandbox: string }) {
  const cookies = { credentials: "include" } as const;
  const refused = () => "refused";
  const read = await fetch(`${url}/v1/sandboxes`, cookies).then(() => "read", refused);
  const followed = await fetch(`${url}/v1/events`, {
    ...cookies,
    headers: { accept: "text/event-stream" },
  }).then(() => "followed", refused);
  const made = await fetch(`${url}/v1/sandboxes`, {
    ...cookies,
    method: "POST",
    mode: "no-cors",
    body: "{}",
  }).then(({ type }) => type, refused);
  const socket = await new Promise<string>((resolve) => {
    const opened = new WebSocket(`${url.replace("http", "ws")}/v1/sandboxes/${id}/exec?command=id`);
    opened.addEventListener("open", () => resolve("opened"));
    opened.addEventListener("error", () => resolve("refused"));
  });
  return { read, followed, made, socket };
}

test("a page whose beginning was broken off is loaded again, and not for ever", async () => {
  const { page } = dashboard;
  dashboard.expectAnswer("401 /v1/auth/me");
  let broken = 0;
  let breaks = 1;
  // As a browser does it when a network of its machine comes or goes; no server can.
  await page.route("**/assets/main-*.js", async (route) => {
    if (broken >= breaks) return route.continue();
    broken += 1;
    await route.abort("connectionreset");
  });
  await page.goto(`${dashboard.url}/ui/`);
  await page.getByLabel("API token").waitFor();
  [broken, breaks] = [0, Infinity];
  await page.reload();
  await expect.poll(() => broken).toBe(5);
  [breaks] = [0];
  await page.reload();
  await page.getByLabel("API token").waitFor();
  expect(await page.evaluate("sessionStorage.length")).toBe(0);
});
