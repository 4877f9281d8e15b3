// A login by the address that `skerry open` opens.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { Members } from "../../control/tests/support/members.ts";
import { useWorld } from "../../control/tests/support/world.ts";
import { useDashboard } from "./support/browser.ts";

const world = useWorld();
const dashboard = useDashboard(world);

async function address(token = world.token): Promise<string> {
  const { body } = await world.call<{ code: string }>("POST", "/v1/auth/login-codes", { token });
  return `${dashboard.url}/ui/login#code=${body.code}`;
}

const agree = () => dashboard.page.getByRole("button", { name: "Log in", exact: true }).click();

test("the address logs in, and its code is neither sent in a path nor left in the address or the history", async () => {
  const { page } = dashboard;
  const url = await address();
  const code = url.split("=").at(-1) ?? "";
  const seen: string[] = [];
  page.on("request", (request) =>
    seen.push(`${request.url().split("#")[0]} ${request.headers()["referer"] ?? ""}`),
  );
  await page.goto(url);
  await agree();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  expect(page.url()).toBe(`${dashboard.url}/ui/`);
  expect(seen.length).toBeGreaterThan(2);
  expect(seen.filter((one) => one.includes(code))).toEqual([]);
  const session = await page.context().newCDPSession(page);
  const { entries } = await session.send("Page.getNavigationHistory");
  expect(entries.map(({ url: visited }) => visited)).toEqual(["about:blank", `${dashboard.url}/ui/`]);
});

test("an address that was used says so, and leaves the form", async () => {
  const { page } = dashboard;
  dashboard.expectAnswer("401 /v1/auth/login-codes/owner");
  const url = await address();
  await page.goto(url);
  await agree();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await page.context().clearCookies();
  await page.goto(url);
  await page.getByRole("alert").getByText("The login code is not valid").waitFor();
  await page.getByLabel("API token").waitFor();
});

test("no session begins unasked: the page says of which organization and user the address is", async () => {
  const { page } = dashboard;
  const other = await new Members(world).newMember("admin");
  const url = await address(other.secret);
  await page.goto(url);
  await page.getByText(`as ${other.name}?`).waitFor();
  const organization = (await world.call<{ name: string }>("GET", `/v1/orgs/${world.orgId}`)).body.name;
  await page.getByText(`Log in to ${organization} as ${other.name}?`).waitFor();
  expect(await page.context().cookies()).toEqual([]);
  await page.getByRole("button", { name: "Do not log in" }).click();
  await page.getByLabel("API token").waitFor();
  expect(await page.context().cookies()).toEqual([]);
  // The code was not spent.
  await page.goto("about:blank");
  await page.goto(url);
  await agree();
  await page.getByRole("banner").getByText(other.name).waitFor();
});

test("a session that is open is not replaced unasked", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token);
  const [before] = await page.context().cookies();
  await page.goto(await address());
  await page.getByRole("button", { name: "Stay logged in" }).click();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  expect(await page.context().cookies()).toEqual([before]);
  await page.goto(await address());
  await page.getByRole("button", { name: "Log in anew" }).click();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  expect((await page.context().cookies())[0]?.value).not.toBe(before?.value);
});

test.each(["/ui/login", "/ui/login/", "/ui/login?a=1"])(
  "a page of another origin cannot have its visitor logged in as its owner: the code is gone before the page is there: %s",
  async (path) => {
    const { page } = dashboard;
    const url = (await address()).replace("/ui/login", path);
    const body = `<!doctype html><html lang=en><title>other</title><main><a href="${url}" rel=noreferrer>a gift</a></main>`;
    const other = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end(body);
    });
    await once(other.listen(0, "127.0.0.1"), "listening");
    try {
      await page.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
      await page.getByRole("link", { name: "a gift" }).click();
      await page.getByLabel("API token").waitFor();
      expect(await page.context().cookies()).toEqual([]);
      expect(page.url()).not.toContain("code");
    } finally {
      other.close();
    }
    // Nothing has spent it.
    const answer = await world.call("POST", "/v1/auth/sessions", {
      ...{ token: "", headers: { "sec-fetch-site": "same-origin" }, body: { code: url.split("=").at(-1) } },
    });
    expect(answer.status).toBe(200);
  },
);

test("where one tab logs in as another person or logs out, the others do not go on as the one before", async () => {
  const { page } = dashboard;
  const other = await new Members(world).newMember("admin");
  await dashboard.logIn(world.token, "/sandboxes");
  const tab = await page.context().newPage();
  tab.setDefaultTimeout(60_000);
  const { body } = await world.call<{ code: string }>("POST", "/v1/auth/login-codes", {
    token: other.secret,
  });
  await tab.goto(`${dashboard.url}/ui/login#code=${body.code}`);
  await tab.getByRole("button", { name: "Log in anew" }).click();
  await page.getByRole("banner").getByText(other.name).waitFor();
  await tab.getByRole("button", { name: "Log out" }).click();
  await page.getByLabel("API token").waitFor();
});

test("an invitation's address asks first, and being opened uses nothing up", async () => {
  const { page } = dashboard;
  const path = `/v1/orgs/${world.orgId}/members`;
  const body = { name: "Ada", role: "member" };
  const added = await world.call<{ token: { id: string; token: string } }>("POST", path, { body });
  const { id, token } = added.body.token;
  const tokenNow = async () =>
    (await world.call<{ items: { id: string }[] }>("GET", "/v1/auth/tokens")).body.items.find(
      (one) => one.id === id,
    );
  const url = `${dashboard.url}/ui/login#token=${token}`;
  await page.goto(url);
  await page.getByText("You are invited to an organization").waitFor();
  expect(page.url()).toBe(`${dashboard.url}/ui/`);
  expect(await page.context().cookies()).toEqual([]);
  // It ends after a week, as one that was not used.
  expect(await tokenNow()).toMatchObject({ expires_at: expect.any(String), last_used_at: null });
  await agree();
  await page.getByRole("banner").getByText("Ada").waitFor();
  expect(await tokenNow()).toMatchObject({ expires_at: null });
});
