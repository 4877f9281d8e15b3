// What "Copy as" gives works elsewhere: of every list, tab, form and question. `support/copied.ts` says how it is tried.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { useWorld } from "../../control/tests/support/world.ts";
import { useDashboard } from "./support/browser.ts";
import { inTurn, three, useCopied } from "./support/copied.ts";

const world = useWorld();
const dashboard = useDashboard(world);
const copied = useCopied(world, dashboard);
let sandbox: string;
let machine: string;

async function create(kind: "sandboxes" | "machines", name: string): Promise<string> {
  const { body } = await world.call<{ id: string }>("POST", `/v1/${kind}`, {
    body: { template: "base", name },
  });
  return body.id;
}

beforeAll(async () => {
  sandbox = await create("sandboxes", "it's");
  machine = await create("machines", "web-2");
  for (const path of [`sandboxes/${sandbox}`, `machines/${machine}`])
    await world.call("POST", `/v1/${path}/snapshots`, { body: { name: `of-${path.slice(0, 4)}` } });
});

test("every list can be asked for elsewhere, with its filters", async () => {
  await dashboard.logIn(world.token);
  const me = await world.call<{ user_id: string }>("GET", "/v1/auth/me");
  for (const path of [
    "/sandboxes",
    "/sandboxes?q=it's&status=running&template=base",
    "/machines?q=web",
    "/machines?owner=any",
    "/sandboxes?created_after=2026-11-20T16:20:00.000Z",
    "/snapshots",
    "/templates",
    "/builds",
    "/builds?name=web&status=failed",
    "/hosts",
    "/services",
    "/audit",
    `/audit?action=sandbox.create&resource_id=${sandbox}&user_id=${me.body.user_id}`,
  ]) {
    await dashboard.page.goto(`${dashboard.url}/ui${path}`);
    // Those after it are of its lines.
    const [list] = await copied.menus();
    await copied.tryAll([list ?? {}]);
  }
});

test.for([
  { kind: "sandboxes", own: ["details"] },
  { kind: "machines", own: ["console", "restarts", "details"] },
] as const)("every tab of one of the $kind can be asked for elsewhere", async ({ kind, own }) => {
  await dashboard.logIn(world.token);
  const id = kind === "sandboxes" ? sandbox : machine;
  const tabs = [...own, "files", "ports", "egress", "snapshots", "events", "metrics"];
  const seen = new Set<string>();
  for (const tab of tabs) {
    await dashboard.page.goto(`${dashboard.url}/ui/${kind}/${id}/${tab}`);
    const [first] = await copied.menus();
    seen.add(first?.["As curl"] ?? "");
    await copied.tryAll([first ?? {}]);
  }
  expect(seen.size).toBe(tabs.length);
});

test("every form can be sent elsewhere, as it was filled in", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token);
  const renamed = (text: string, nth: number) => text.replaceAll("copied", `copied-${nth}`);
  for (const path of ["/sandboxes/new", "/machines/new"]) {
    await page.goto(`${dashboard.url}/ui${path}`);
    await page.getByLabel("Name", { exact: true }).fill("copied");
    await copied.tryAll(await copied.menus(), renamed);
  }
  await page.goto(`${dashboard.url}/ui/organization`);
  const form = (name: string) => page.getByRole("group").filter({ hasText: name });
  await page.getByText("Add a member").click();
  await form("Add a member").getByLabel("Name").fill("copied O'Hara");
  await form("Add a member").getByLabel("E-mail").fill("copied@example.org");
  await page.getByText("Set a secret").click();
  await form("Set a secret").getByLabel("Name").fill("COPIED");
  await writeFile(join(copied.folder, "value.txt"), "a value of the test");
  await page.getByText("Mint a token").click();
  await form("Mint a token").getByLabel("Name").fill("copied");
  await page.getByLabel("sandboxes:read").check();
  await page.getByLabel("machines:read").check();
  await page.getByText("Change a limit").click();
  await page.getByLabel("At most").fill("77");
  const found = await copied.menus();
  // Four lists, four forms, and one for the only member.
  expect(found.length).toBe(9);
  await copied.tryAll(found, renamed);
  const { body } = await world.call<{ items: readonly { name: string; scopes: readonly string[] }[] }>(
    "GET",
    "/v1/auth/tokens",
  );
  const minted = body.items.filter(({ name }) => name.startsWith("copied"));
  expect(minted.map(({ scopes }) => scopes)).toEqual(
    Array.from({ length: 3 }, () => ["sandboxes:read", "machines:read"]),
  );
});

test("what is asked before it is done can be done elsewhere: rolling back, destroying", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token, `/sandboxes/${sandbox}/snapshots`);
  await page.getByRole("button", { name: "Roll back" }).click();
  await copied.tryAll([await copied.asked("rollback")]);
  const ids = await three((nth) => create("sandboxes", `end-${nth}`));
  await page.goto(`${dashboard.url}/ui/sandboxes/${ids[0]}`);
  await page.getByRole("button", { name: "Destroy" }).click();
  await copied.tryAll([await copied.asked("destroy")], inTurn(ids));
});

test("and revoking a token, and removing a member", async () => {
  const { page } = dashboard;
  const { orgId } = world;
  const tokens = await three(async (nth) => {
    const body = { name: `end-${nth}` };
    return (await world.call<{ id: string }>("POST", "/v1/auth/tokens", { body })).body.id;
  });
  const members = await three(async (nth) => {
    const body = { name: `leaver-${nth}`, role: "viewer" };
    return (await world.call<{ user_id: string }>("POST", `/v1/orgs/${orgId}/members`, { body })).body
      .user_id;
  });
  await dashboard.logIn(world.token, "/organization");
  const line = (name: string) => page.getByRole("listitem").filter({ hasText: name }).last();
  await line("end-0").getByRole("button", { name: "Revoke" }).click();
  await copied.tryAll([await copied.asked("revoke")], inTurn(tokens));
  await page.reload();
  await line("leaver-0").getByText("Change", { exact: true }).click();
  await line("leaver-0").getByRole("button", { name: "Remove" }).click();
  await copied.tryAll([await copied.asked("remove-member")], inTurn(members));
});

test("rules for egress can be put elsewhere, where they still have the version that was seen", async () => {
  const { page } = dashboard;
  const body = { template: "base", egress: { mode: "deny_all" } };
  const { id } = (await world.call<{ id: string }>("POST", "/v1/sandboxes", { body })).body;
  await dashboard.logIn(world.token, `/sandboxes/${id}/egress`);
  await page
    .getByRole("button", { name: /^Allow this/ })
    .first()
    .click();
  await page.getByRole("button", { name: "Apply", exact: true }).waitFor();
  const put = (await copied.menus()).at(-1) ?? {};
  expect(put["As CLI"]).toContain("--if-version");
  const { body: before } = await world.call<{ version: number }>("GET", `/v1/sandboxes/${id}/egress`);
  // Each of them makes another version.
  const version = (text: string, nth: number) =>
    text
      .replace(`If-Match: "${before.version}"`, `If-Match: "${before.version + nth}"`)
      .replace(`--if-version ${before.version}`, `--if-version ${before.version + nth}`)
      .replace(`"ifVersion":${before.version}`, `"ifVersion":${before.version + nth}`);
  await copied.tryAll([put], version);
  const { body: after } = await world.call<{ version: number }>("GET", `/v1/sandboxes/${id}/egress`);
  expect(after.version).toBe(before.version + 3);
});
