// What "Copy as" gives works elsewhere: on every screen each command line is run by the real command, each curl by curl and held against the API's
// document, and each TypeScript against the client.

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Skerry } from "@skerry/sdk";
import { useWorld } from "../../control/tests/support/world.ts";
import { nameOf } from "../src/ui/text.ts";
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

/** Every menu that the page has, opened in turn. */
async function menus(): Promise<readonly Menu[]> {
  await dashboard.page.locator(".copy-as").first().waitFor({ state: "attached" });
  return dashboard.page.evaluate<readonly Menu[]>(READ_MENUS);
}

const READ_MENUS = `(async () => {
  const found = [];
  for (const menu of document.querySelectorAll(".copy-as [popover]")) {
    menu.showPopover();
    while (menu.querySelector("pre") === null) await new Promise(requestAnimationFrame);
    found.push(Object.fromEntries([...menu.querySelectorAll("pre")].map((one) => [one.getAttribute("aria-label"), one.textContent])));
    menu.hidePopover();
  }
  return found;
})()`;

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
  const { stdout } = await run("curl", ["-sS", "-w", "\n%{http_code}", ...args], { cwd: folder });
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
  await run(process.execPath, [CLI, ...(await words(line))], { env, cwd: folder });
}

async function tryTypeScript(text: string): Promise<void> {
  const skerry = new Skerry({ baseUrl: dashboard.url, token: world.token });
  const lines: unknown[] = [];
  // A function has no imports of its own.
  const body = text.replace(/^import \{ readFile \} from "node:fs\/promises";\n/, "");
  // eslint-disable-next-line no-new-func, typescript/no-implied-eval -- it is what a person would paste.
  const pasted = new Function("skerry", "console", "readFile", `return (async () => { ${body} })()`) as (
    skerry: Skerry,
    console: { log: (line: unknown) => void },
    readFile: (path: string) => Promise<Buffer>,
  ) => Promise<void>;
  await pasted(skerry, { log: (line) => void lines.push(line) }, (path) => readFile(join(folder, path)));
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
/** Where a person would be who pastes it. */
let folder: string;

async function create(kind: "sandboxes" | "machines", name: string): Promise<string> {
  const { body } = await world.call<{ id: string }>("POST", `/v1/${kind}`, {
    body: { template: "base", name },
  });
  return body.id;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-copied-"));
  await writeFile(join(folder, "it's a file"), "content");
  sandbox = await create("sandboxes", "it's");
  machine = await create("machines", "web-2");
  for (const path of [`sandboxes/${sandbox}`, `machines/${machine}`])
    await world.call("POST", `/v1/${path}/snapshots`, { body: { name: `of-${path.slice(0, 4)}` } });
});

afterAll(() => rm(folder, { recursive: true }));

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
    // Those after it are of its lines.
    const [list] = await menus();
    await tryAll([list ?? {}]);
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
  return menuOf(command);
}

/** The one menu that has it. */
async function menuOf(command: string): Promise<Menu> {
  const found = (await menus()).filter((menu) => menu["As CLI"]?.includes(command) === true);
  expect(found.length, command).toBe(1);
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
  await page.getByRole("button", { name: "Apply", exact: true }).waitFor();
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

/** On a page, what a button of it sends, and what has to be so before each of the three is tried. */
async function tryButton(button: string, command: string, before?: () => Promise<unknown>): Promise<void> {
  await dashboard.page.getByRole("button", { name: button, exact: true }).waitFor();
  const menu = await menuOf(command);
  expect(Object.keys(menu)).toEqual(KINDS);
  for (const [kind, attempt] of [
    ["As curl", tryCurl],
    ["As CLI", tryCommand],
    ["As TypeScript", tryTypeScript],
  ] as const) {
    await before?.();
    await attempt(menu[kind] ?? "");
  }
}

const post = (path: string) => () => world.call("POST", path);

test("what one click does to a sandbox can be done elsewhere", async () => {
  const { page } = dashboard;
  const { id } = await world.createSandbox({ name: "clicked", mode: "persistent" });
  const at = `/v1/sandboxes/${id}`;
  await dashboard.logIn(world.token, `/sandboxes/${id}`);
  await tryButton("+10 min", "keepalive");
  await tryButton("Fork", "fork");
  await tryButton("Snapshot", "snapshot");
  await tryButton("Pause", "pause", post(`${at}/resume`));
  await world.call("POST", `${at}/pause`);
  await page.reload();
  await tryButton("Resume", "resume", post(`${at}/pause`));
  await page.goto(`${dashboard.url}/ui/snapshots`);
  const [first] = (
    await world.call<{ items: readonly { id: string; name: string }[] }>("GET", "/v1/snapshots")
  ).body.items;
  await tryButton(`New sandbox of ${nameOf(first ?? {})}`, `--snapshot ${first?.id}`);
});

test("and to a machine, a host, a background service", async () => {
  const { page } = dashboard;
  const at = `/v1/machines/${machine}`;
  await dashboard.logIn(world.token, `/machines/${machine}`);
  await tryButton("Restart", "machine restart");
  await tryButton("Stop", "machine stop", post(`${at}/start`));
  await page.getByRole("button", { name: "Start", exact: true }).waitFor();
  await tryButton("Start", "machine start", post(`${at}/stop`));
  await page.goto(`${dashboard.url}/ui/services`);
  await tryButton("Run sandbox-reaper", "run sandbox-reaper");
  await page.goto(`${dashboard.url}/ui/hosts`);
  await page.getByRole("button", { name: "Drain fake" }).click();
  await tryAll([await asked("host drain")]);
  await tryButton("Activate fake", "host activate");
});

test("and to a port and to files", async () => {
  const { page, url } = dashboard;
  world.host.ports.listening = [{ port: 8080, address: "0.0.0.0", process: "python3" }];
  await dashboard.logIn(world.token, `/sandboxes/${sandbox}/ports`);
  await tryButton("Address for 10 minutes of 8080", "sandbox url");
  await page.getByRole("button", { name: "Open to all 8080" }).click();
  await tryAll([await asked("--public 8080")]);
  await tryButton("Close 8080", "--private 8080");
  await page.goto(`${url}/ui/sandboxes/${sandbox}/files`);
  await page.getByLabel("Upload").setInputFiles(join(folder, "it's a file"));
  await tryButton("Upload it's a file", "sandbox upload");
  expect(world.host.files.get("/root/it's a file")?.content.toString()).toBe("content");
  world.host.fileName = "it's a file";
  await page.reload();
  await tryButton("Save it's a file", "sandbox download", () =>
    rm(join(folder, "it's a file"), { force: true }),
  );
  const put = () =>
    world.call("PUT", `/v1/sandboxes/${sandbox}/files/root/it's%20a%20file`, { body: "content" });
  await page.getByRole("button", { name: "Remove it's a file" }).click();
  await tryButton("Remove it's a file: yes", "file rm", put);
});
