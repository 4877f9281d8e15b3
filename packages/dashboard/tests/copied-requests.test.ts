// What "Copy as" gives works elsewhere: on every screen each command line is run by the real command, each curl by curl and held against the API's
// document, and each TypeScript against the client.

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { Skerry } from "@skerry/sdk";
import { useWorld } from "../../control/tests/support/world.ts";
import { useDashboard } from "./support/browser.ts";

const world = useWorld();
const dashboard = useDashboard(world);
const run = promisify(execFile);
/** As it was built, which starts several times faster than from its sources. */
const CLI = join(import.meta.dirname, "../../../dist/skerry.js");
const document = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../control/openapi.json"), "utf8"),
) as { readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>> };

/** Of one menu, by what it is copied as. */
type Menu = Readonly<Record<string, string>>;

const KINDS = ["As curl", "As CLI", "As TypeScript"] as const;

/** Every menu that the page has, whether it is open or not. */
async function menus(): Promise<readonly Menu[]> {
  await dashboard.page.locator(".copy-as").first().waitFor({ state: "attached" });
  return dashboard.page
    .locator(".copy-as")
    .evaluateAll((all) =>
      all.map((one) =>
        Object.fromEntries(
          [...one.querySelectorAll("pre")].map((text) => [text.getAttribute("aria-label"), text.textContent]),
        ),
      ),
    );
}

/** The words that a shell makes of a command line. */
async function words(line: string): Promise<readonly string[]> {
  const program = line.slice(0, line.indexOf(" "));
  const env = { PATH: process.env["PATH"], SKERRY_API_TOKEN: world.token };
  const { stdout } = await run("sh", ["-c", `${program}() { printf '%s\\0' "$@"; }\n${line}`], { env });
  return stdout.split("\0").slice(0, -1);
}

async function tryCurl(line: string): Promise<void> {
  const args = await words(line);
  const after = (flag: string) => args[args.indexOf(flag) + 1] ?? "";
  const method = args.includes("-X") ? after("-X") : "GET";
  const url = new URL(args.find((one) => one.startsWith("http")) ?? "");
  const pattern = Object.keys(document.paths).find((path) => isOf(path, url.pathname));
  expect(Object.keys(document.paths[pattern ?? ""] ?? {}), line).toContain(method.toLowerCase());
  const { stdout } = await run("curl", ["-sS", "-w", "\n%{http_code}", ...args]);
  expect(stdout.trimEnd().split("\n").at(-1), `${line}\n${stdout}`).toMatch(/^2\d\d$/);
}

/** Whether the path is one of the pattern's, such as `/v1/sandboxes/{id}/files/{path}`, whose last part may have slashes. */
function isOf(pattern: string, path: string): boolean {
  const source = pattern.replace(/\{path\}$/, ".+").replaceAll(/\{[a-z_]+\}/g, "[^/]+");
  return new RegExp(`^${source}$`).test(path);
}

async function tryCommand(line: string): Promise<void> {
  const env = {
    PATH: process.env["PATH"],
    HOME: "/nonexistent",
    SKERRY_QUIET: "1",
    SKERRY_API_URL: dashboard.url,
    SKERRY_API_TOKEN: world.token,
  };
  await run(process.execPath, [CLI, ...(await words(line))], { env });
}

async function tryTypeScript(text: string): Promise<void> {
  const skerry = new Skerry({ baseUrl: dashboard.url, token: world.token });
  const lines: unknown[] = [];
  // eslint-disable-next-line no-new-func, typescript/no-implied-eval -- it is what a person would paste.
  const pasted = new Function("skerry", "console", `return (async () => { ${text} })()`) as (
    skerry: Skerry,
    console: { log: (line: unknown) => void },
  ) => Promise<void>;
  await pasted(skerry, { log: (line) => void lines.push(line) });
}

/** Each as it is, but for what `changed` makes of it: what is made by one cannot be made by the next under the same name. */
async function tryAll(all: readonly Menu[], changed = (text: string, _nth: number) => text): Promise<void> {
  for (const menu of all) {
    expect(Object.keys(menu)).toEqual(KINDS);
    const [curl, cli, typescript] = KINDS.map((kind, nth) => changed(menu[kind] ?? "", nth));
    await tryCurl(curl ?? "");
    await tryCommand(cli ?? "");
    await tryTypeScript(typescript ?? "");
  }
}

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
    "/snapshots",
    "/templates",
    "/hosts",
    "/services",
    "/audit",
    `/audit?action=sandbox.create&resource_id=${sandbox}&user_id=${me.body.user_id}`,
  ]) {
    await dashboard.page.goto(`${dashboard.url}/ui${path}`);
    const found = await menus();
    expect(found.length, path).toBe(1);
    await tryAll(found);
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
    const [first] = await menus();
    seen.add(first?.["As curl"] ?? "");
    await tryAll([first ?? {}]);
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
    await tryAll(await menus(), renamed);
  }
  await page.goto(`${dashboard.url}/ui/organization`);
  const form = (name: string) => page.getByRole("group").filter({ hasText: name });
  await page.getByText("Add a member").click();
  await form("Add a member").getByLabel("Name").fill("copied O'Hara");
  await form("Add a member").getByLabel("E-mail").fill("copied@example.org");
  await page.getByText("Mint a token").click();
  await form("Mint a token").getByLabel("Name").fill("copied");
  await page.getByLabel("sandboxes:read").check();
  await page.getByLabel("machines:read").check();
  await page.getByText("Change a limit").click();
  await page.getByLabel("At most").fill("77");
  const found = await menus();
  // Three lists, three forms, and one for the only member.
  expect(found.length).toBe(7);
  await tryAll(found, renamed);
  const { body } = await world.call<{ items: readonly { name: string; scopes: readonly string[] }[] }>(
    "GET",
    "/v1/auth/tokens",
  );
  const minted = body.items.filter(({ name }) => name.startsWith("copied"));
  expect(minted.map(({ scopes }) => scopes)).toEqual(
    Array.from({ length: 3 }, () => ["sandboxes:read", "machines:read"]),
  );
});

/** The menu of the question that is asked, by its command. */
async function asked(command: string): Promise<Menu> {
  await dashboard.page.locator(".confirm").waitFor();
  const found = (await menus()).filter((menu) => menu["As CLI"]?.includes(command) === true);
  expect(found.length).toBe(1);
  return found[0] ?? {};
}

/** Three that can each be ended once. */
async function three(make: (nth: number) => Promise<string>): Promise<readonly string[]> {
  return [await make(0), await make(1), await make(2)];
}

const inTurn = (ids: readonly string[]) => (text: string, nth: number) =>
  text.replaceAll(ids[0] ?? "", ids[nth] ?? "");

test("what is asked before it is done can be done elsewhere: rolling back, destroying", async () => {
  const { page } = dashboard;
  await dashboard.logIn(world.token, `/sandboxes/${sandbox}/snapshots`);
  await page.getByRole("button", { name: "Roll back" }).click();
  await tryAll([await asked("rollback")]);
  const ids = await three((nth) => create("sandboxes", `end-${nth}`));
  await page.goto(`${dashboard.url}/ui/sandboxes/${ids[0]}`);
  await page.getByRole("button", { name: "Destroy" }).click();
  await tryAll([await asked("destroy")], inTurn(ids));
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
  await tryAll([await asked("revoke")], inTurn(tokens));
  await page.reload();
  await line("leaver-0").getByText("Change", { exact: true }).click();
  await line("leaver-0").getByRole("button", { name: "Remove" }).click();
  await tryAll([await asked("remove-member")], inTurn(members));
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
  await page.getByRole("button", { name: "Apply" }).waitFor();
  const put = (await menus()).at(-1) ?? {};
  expect(put["As CLI"]).toContain("--if-version");
  const { body: before } = await world.call<{ version: number }>("GET", `/v1/sandboxes/${id}/egress`);
  // Each of them makes another version.
  const version = (text: string, nth: number) =>
    text
      .replace(`If-Match: "${before.version}"`, `If-Match: "${before.version + nth}"`)
      .replace(`--if-version ${before.version}`, `--if-version ${before.version + nth}`)
      .replace(`"ifVersion":${before.version}`, `"ifVersion":${before.version + nth}`);
  await tryAll([put], version);
  const { body: after } = await world.call<{ version: number }>("GET", `/v1/sandboxes/${id}/egress`);
  expect(after.version).toBe(before.version + 3);
});
