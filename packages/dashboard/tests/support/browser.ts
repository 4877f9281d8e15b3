// The dashboard in a real browser, before a real control plane with a host that is none. Each test has a browser profile of its own, and fails by what
// the page complains about: an error, something that its rules refuse, an answer that nobody expected, what axe finds, and buttons of one name.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { buildServer, type Server } from "../../../control/src/app/server.ts";
import { readDashboardFiles, type DashboardFiles } from "../../../control/src/web/dashboard-files.ts";
import type { World } from "../../../control/tests/support/world.ts";
import { launchChromium } from "./chromium.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** Against hanging, not a measure: the machine may be busy. */
const WITHIN_MS = 60_000;
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** Who hears the page has nothing but their names to tell them apart. */
const EQUAL_BUTTONS = `(() => {
  const names = [...document.querySelectorAll("button, summary")]
    .filter((one) => one.checkVisibility())
    .map((one) => (one.getAttribute("aria-label") ?? one.innerText).trim());
  return names.filter((name, at) => names.indexOf(name) !== at);
})()`;

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

export function builtFiles(): DashboardFiles {
  const files = readDashboardFiles(join(import.meta.dirname, "../../../../dist/dashboard"));
  if (files === undefined) throw new Error("there is no dashboard in dist: npm run build");
  return files;
}

export class Dashboard {
  /** Of the server, without a path. */
  url = "";
  #browser: Browser | undefined;
  #server: Server | undefined;
  #page: Page | undefined;
  #complaints: string[] = [];
  readonly #expected = new Set<string>();
  #refusals: RegExp | undefined;

  get page(): Page {
    if (this.#page === undefined) throw new Error("no test runs");
    return this.#page;
  }

  /** An answer that the test wants, such as `401 /v1/auth/me`. */
  expectAnswer(answer: string): void {
    this.#expected.add(answer);
  }

  /** What the browser says when it keeps another page away from the server. */
  expectRefusals(): void {
    this.#refusals = /blocked by CORS policy|^WebSocket connection to .* failed/;
  }

  /** Another page is shown, whose requests are refused one way or another. */
  expectOtherPage(): void {
    this.#refusals =
      /^40\d \/v1\/|blocked by CORS|Security Policy directive: "frame-ancestors|^WebSocket connection to .* failed/;
  }

  async logIn(token: string, path = "/"): Promise<void> {
    await this.page.goto(`${this.url}/ui${path}`);
    await this.page.getByLabel("API token").fill(token);
    await this.page.getByRole("button", { name: "Log in" }).click();
    await this.page.getByRole("banner").getByText("live", { exact: false }).waitFor();
  }

  /** What WCAG 2.2 A and AA has against what is shown. */
  async faults(): Promise<readonly string[]> {
    const session = await this.page.context().newCDPSession(this.page);
    // By the debugger, which the page's rules do not bind.
    await session.send("Runtime.evaluate", { expression: AXE });
    const expression = `axe.run({ runOnly: ${JSON.stringify(RULES)} }).then((found) => JSON.stringify(found.violations))`;
    const { result } = await session.send("Runtime.evaluate", { expression, awaitPromise: true });
    await session.detach();
    const violations = JSON.parse(String(result.value)) as readonly Violation[];
    const equal = await this.page.evaluate<readonly string[]>(EQUAL_BUTTONS);
    return [
      ...violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`)),
      ...equal.map((name) => `two buttons are called ${name}`),
    ];
  }

  /** From now on no server answers. */
  async halt(): Promise<void> {
    await this.#server?.stop(0);
    this.#server = undefined;
  }

  /** At the same address as before; with other files, as after an upgrade. */
  async serve(world: World, dashboard = builtFiles()): Promise<void> {
    this.#server = await buildServer(world.contextWith({ dashboard }));
    const port = this.url === "" ? 0 : Number(new URL(this.url).port);
    this.url = await this.#server.app.listen({ host: "127.0.0.1", port });
  }

  async start(world: World): Promise<void> {
    await this.serve(world);
    this.#browser = await launchChromium();
  }

  async open(): Promise<void> {
    this.#complaints = [];
    this.#expected.clear();
    this.#refusals = undefined;
    const context = await this.#browser?.newContext({ reducedMotion: "reduce" });
    const page = await context?.newPage();
    if (page === undefined) throw new Error("the browser has not started");
    page.on("pageerror", (error) => this.#complaints.push(String(error)));
    page.on("console", (message) => {
      // What has failed to load is told as an answer.
      const isAnswer = message.text().startsWith("Failed to load resource");
      if (message.type() === "error" && !isAnswer) this.#complaints.push(message.text());
    });
    page.on("response", (response) => {
      const told = `${response.status()} ${new URL(response.url()).pathname}`;
      if (response.status() >= 400) this.#complaints.push(told);
    });
    page.setDefaultTimeout(WITHIN_MS);
    this.#page = page;
  }

  /** What the page shows, and what it complains of, for a test that failed. */
  async describe(): Promise<string> {
    const text = await this.page.locator("body").innerText();
    return [this.page.url(), ...this.#complaints, text].join("\n");
  }

  async close(): Promise<void> {
    const faults = await this.faults();
    await this.page.context().close();
    expect([
      ...this.#complaints.filter((one) => !this.#expected.has(one) && this.#refusals?.test(one) !== true),
      ...faults,
    ]).toEqual([]);
  }

  async stop(): Promise<void> {
    await this.#browser?.close();
    await this.#server?.stop(0);
  }
}

export function useDashboard(world: World): Dashboard {
  const dashboard = new Dashboard();
  beforeAll(() => dashboard.start(world));
  beforeEach(() => dashboard.open());
  afterEach(async ({ task }) => {
    const hasFailed = task.result?.state === "fail";
    if (hasFailed) process.stderr.write(`${task.name}\n${await dashboard.describe()}\n`);
    await dashboard.close();
  });
  afterAll(() => dashboard.stop());
  return dashboard;
}
