// A person in a browser, with a real microVM behind it.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { launchChromium, type Browser, type Page } from "../packages/dashboard/tests/support/chromium.ts";
import { startPlatform, until, type Platform } from "./support/platform.ts";
import { run } from "./support/run.ts";

/** As long as a machine that is busy with other tests takes. */
const WITHIN_MS = 120_000;
/** An address and a port that answer, in a namespace behind this machine. Documentation networks stand for public ones. */
const THERE = "198.51.100.199";
const PORT = 8080;
const LINK = ["10.255.78.1", "10.255.78.2"] as const;

/** Not python's own HTTP server, which asks for the name of its address, and waits. */
const SERVER = `
import http.server, socketserver
server = socketserver.ThreadingTCPServer(("${THERE}", ${PORT}), http.server.SimpleHTTPRequestHandler)
print("ready")
server.serve_forever()
`;

let platform: Platform;
let browser: Browser;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  platform = await startPlatform({ assets: inject("assets"), env: { SKERRY_WARM_MAX: "0" } });
  browser = await launchChromium();
});

afterAll(async () => {
  await browser?.close();
  await platform.stop();
});

beforeEach(async () => {
  complaints = [];
  page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.setDefaultTimeout(WITHIN_MS);
  page.on("pageerror", (error) => complaints.push(String(error)));
  await visit("/");
  await page.getByLabel("API token").fill(platform.token);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("banner").getByText("live").waitFor();
});

afterEach(async ({ task }) => {
  if (task.result?.state === "fail")
    process.stderr.write(`${page.url()}\n${await page.locator("body").innerText()}\n`);
  await page.close();
  expect(complaints).toEqual([]);
});

/** Chromium breaks off what it loads when an interface of the machine comes or goes; the dashboard itself then loads it again. */
function visit(path: string): Promise<void> {
  return until("the page is loaded", () =>
    page.goto(`${platform.apiUrl}/ui${path}`).then(
      () => true,
      () => false,
    ),
  );
}

/** A namespace with a server at that address, to which this machine knows the way. */
async function openServer(text: string): Promise<AsyncDisposable> {
  const name = `skj${process.pid}`;
  const folder = await mkdtemp(join(tmpdir(), "skerry-journey-"));
  await writeFile(join(folder, "index.html"), text);
  let server: ChildProcess | undefined;
  const close = async () => {
    server?.kill("SIGKILL");
    await run("ip", "link", "del", name).catch(() => undefined);
    await run("ip", "netns", "del", name).catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await run("ip", "netns", "add", name);
    const inside = (...args: readonly string[]) => run("ip", "-n", name, ...args);
    await run("ip", "link", "add", name, "type", "veth", "peer", "name", "machine", "netns", name);
    await run("ip", "addr", "add", `${LINK[0]}/30`, "dev", name);
    await run("ip", "link", "set", name, "up");
    await inside("addr", "add", `${LINK[1]}/30`, "dev", "machine");
    await inside("addr", "add", `${THERE}/32`, "dev", "lo");
    for (const device of ["lo", "machine"]) await inside("link", "set", device, "up");
    await inside("route", "add", "default", "via", LINK[0]);
    await run("ip", "route", "add", `${THERE}/32`, "via", LINK[1], "dev", name);
    server = spawn("ip", ["netns", "exec", name, "python3", "-u", "-c", SERVER], {
      cwd: folder,
      stdio: ["ignore", "pipe", "ignore"],
    });
    if (server.stdout !== null) await once(server.stdout, "data");
    return { [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A line of the terminal, as a screen reader finds it. */
async function shows(text: string): Promise<void> {
  await page.locator(".xterm-accessibility-tree").getByText(text).first().waitFor();
}

async function enter(command: string): Promise<void> {
  await page.locator(".xterm textarea").focus();
  await page.keyboard.type(command);
  await page.keyboard.press("Enter");
}

test("a sandbox is made by the form, what it may not reach is seen and allowed, and then it reaches it", async () => {
  await using _server = await openServer("it answers");
  const { organization_id: organization } = await platform.client.me();
  await platform.client.organizations.update(organization, { egress_default: "deny_all" });
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await page.getByRole("link", { name: "New sandbox" }).click();
  await page.getByLabel("Name", { exact: true }).fill("journey");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("heading", { level: 1 }).getByText("journey").waitFor();
  await page.getByRole("link", { name: "Terminal", exact: true }).click();
  await page.getByText("A shell in the guest.").waitFor();
  // What is typed looks like none of what it prints.
  const fetching = `curl -s -m 10 http://${THERE}:${PORT}/`;
  await enter(`${fetching} || echo re''fused`);
  await shows("refused");
  await page.getByRole("link", { name: "Egress", exact: true }).click();
  await page.getByRole("button", { name: `Allow this: ${THERE}:${PORT}` }).click();
  await page.getByRole("list", { name: "What changes" }).getByText(`${THERE}/32`).waitFor();
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await page.getByText(/Since then: \d+ passed, \d+ denied/).waitFor();
  // It is the same shell.
  await page.getByRole("link", { name: "Terminal", exact: true }).click();
  await shows("refused");
  await enter(`until ${fetching}; do sleep 1; done`);
  await shows("it answers");
  await page.getByRole("link", { name: "Egress", exact: true }).click();
  await page.getByText("Policy in force").waitFor();
  await page.getByRole("button", { name: "Destroy" }).click();
  await page
    .getByRole("group")
    .getByRole("button", { name: /^Destroy/ })
    .click();
  await page
    .getByRole("heading", { level: 1 })
    .getByText(/destroy/)
    .waitFor();
}, 600_000);
