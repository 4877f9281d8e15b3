// Members, tokens and limits of the organization.

import { beforeAll, expect, test } from "vitest";
import { useWorld } from "../../control/tests/support/world.ts";
import { useDashboard } from "./support/browser.ts";

const world = useWorld();
const dashboard = useDashboard(world);

interface Minted {
  readonly id: string;
  readonly token: string;
}

async function mint(name: string, by = world.token): Promise<Minted> {
  return (await world.call<Minted>("POST", "/v1/auth/tokens", { token: by, body: { name } })).body;
}

let parent: Minted;
let child: Minted;

beforeAll(async () => {
  parent = await mint("parent");
  child = await mint("child", parent.token);
  await mint("grandchild", child.token);
});

test("tokens hang below those that minted them, and revoking one says how many others it ends", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token, "/organization");
  const branch = (name: string) =>
    page.getByRole("listitem").filter({ has: page.getByText(name, { exact: true }) });
  await branch("parent").getByRole("listitem").filter({ hasText: "child" }).first().waitFor();
  expect(await dashboard.faults()).toEqual([]);
  const own = branch("parent").last();
  await own.getByRole("button", { name: "Revoke" }).first().click();
  const question = page
    .getByRole("group")
    .filter({ hasText: "This ends parent, and the 2 that came from it" });
  await question.getByRole("button", { name: /^Revoke/ }).click();
  await page.getByText("grandchild", { exact: true }).waitFor({ state: "detached" });
  expect((await world.call("GET", "/v1/auth/me", { token: child.token })).status).toBe(401);
});

test("a token is minted with the scopes that were chosen, and its secret is shown once", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token, "/organization");
  await page.getByText("Mint a token").click();
  await page.getByRole("group").filter({ hasText: "Mint a token" }).getByLabel("Name").fill("for-ci");
  await page.getByLabel("Lifetime").fill("1h");
  await page.getByLabel("sandboxes:read").check();
  await page.getByLabel("sandboxes:write").check();
  expect(await dashboard.faults()).toEqual([]);
  await page.getByRole("button", { name: "Mint", exact: true }).click();
  const secret = await page.getByRole("status").locator("code").innerText();
  const me = await world.call<{ scopes: string[]; token_name: string }>("GET", "/v1/auth/me", {
    token: secret,
  });
  expect(me.body).toMatchObject({ token_name: "for-ci", scopes: ["sandboxes:read", "sandboxes:write"] });
  await page.getByRole("strong").filter({ hasText: "for-ci" }).waitFor();
  await page.reload();
  await page.getByRole("strong").filter({ hasText: "for-ci" }).waitFor();
  expect(await page.getByText(secret).count()).toBe(0);
});

test("a lifetime that is none is told at its field", async () => {
  const { page } = dashboard;
  dashboard.expectAnswer("400 /v1/auth/tokens");
  await dashboard.logIn(world.token, "/organization");
  await page.getByText("Mint a token").click();
  await page.getByLabel("Lifetime").fill("tomorrow");
  await page.getByRole("button", { name: "Mint", exact: true }).click();
  await page.getByRole("alert").getByText("expires_in").first().waitFor();
  expect(await page.getByLabel("Lifetime").getAttribute("aria-invalid")).toBe("true");
});

test("a member is added, gets another role, and is removed", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token, "/organization");
  await page.getByText("Add a member").click();
  await page.getByRole("group").filter({ hasText: "Add a member" }).getByLabel("Name").fill("Grace");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const secret = await page.getByRole("status").locator("code").first().innerText();
  await page.getByText(`${dashboard.url}/ui/login#token=${secret}`).waitFor();
  const me = await world.call("GET", "/v1/auth/me", { token: secret });
  expect(me.body).toMatchObject({ name: "Grace", role: "member" });
  const line = page.getByRole("listitem").filter({ hasText: "Grace" });
  await line.getByText("Change", { exact: true }).click();
  await line.getByLabel("Role", { exact: true }).selectOption("viewer");
  await line.getByRole("button", { name: /^Change the role/ }).click();
  await line.locator("strong").getByText("viewer").waitFor();
  expect(await dashboard.faults()).toEqual([]);
  await line.getByRole("button", { name: "Remove" }).click();
  const question = page.getByRole("group", { name: /^Grace is no member any more/ });
  await question.getByRole("button", { name: /^Remove/ }).click();
  await line.waitFor({ state: "detached" });
  expect((await world.call("GET", "/v1/auth/me", { token: secret })).status).toBe(401);
});

test("the operator changes a limit, and its bar follows; what is no number is not sent", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token, "/organization");
  await page.getByText("Change a limit").click();
  await page.getByLabel("Limit", { exact: true }).selectOption("quota_machines");
  await page.getByLabel("At most").fill("7");
  await page.getByRole("button", { name: "Change the limit", exact: true }).click();
  await page.getByText("of 7", { exact: false }).waitFor();
  await page.getByLabel("At most").pressSequentially("e");
  await page.getByRole("button", { name: "Change the limit", exact: true }).click();
  const { body } = await world.call<{ quotas: { machines: { limit: number } } }>("GET", "/v1/limits");
  expect(body.quotas.machines.limit).toBe(7);
});

test("who may change nothing sees the same, and which scope is lacking", async () => {
  const { page } = dashboard;
  const scopes = ["org:read", "tokens:read", "sandboxes:read", "machines:read"];
  const minted = await world.call<Minted>("POST", "/v1/auth/tokens", { body: { name: "reader", scopes } });
  await dashboard.logIn(minted.body.token, "/organization");
  await page.getByText("Mint a token").click();
  const button = page.getByRole("button", { name: "Mint", exact: true });
  expect([await button.isDisabled(), await button.getAttribute("title")]).toEqual([
    true,
    "Needs the scope tokens:write.",
  ]);
  expect(await page.getByText("Change a limit").count()).toBe(0);
});

test("a secret is set, rolled back and deleted, and its value is nowhere on the page and in nothing that can be copied", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token, "/organization");
  await page.getByText("Set a secret").click();
  for (const value of ["hunter2-old", "hunter2-new"]) {
    await page.getByRole("group").filter({ hasText: "Set a secret" }).getByLabel("Name").fill("API_KEY");
    await page.getByLabel("Value").fill(value);
    await page.getByRole("button", { name: "Copy as: Set the secret" }).click();
    const copies = page.getByRole("group", { name: "Copy as" });
    await copies.getByText("skerry secret set API_KEY").waitFor();
    expect(await copies.innerText()).not.toContain("hunter2");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Set the secret", exact: true }).click();
    await page.getByText(`API_KEY has version ${value.endsWith("old") ? 1 : 2} now.`).waitFor();
    expect(await page.getByLabel("Value").inputValue()).toBe("");
  }
  await page.getByText("Versions").click();
  await page.getByRole("button", { name: "Roll back API_KEY to version 1", exact: true }).click();
  await page.getByText("API_KEY has version 3 now.").waitFor();
  expect(await page.content()).not.toContain("hunter2");
  expect(await dashboard.faults()).toEqual([]);
  await page.getByRole("button", { name: "Delete API_KEY", exact: true }).click();
  await page.getByRole("button", { name: "Delete API_KEY: yes" }).click();
  await page.getByText("API_KEY is deleted.").waitFor();
  expect((await world.call("GET", "/v1/secrets")).body).toEqual({ items: [] });
});
