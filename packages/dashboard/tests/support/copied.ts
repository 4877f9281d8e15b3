// What "Copy as" gives on a page, and how it is tried: each command line is run by the real command, each curl by curl and held against the API's
// document, and each TypeScript against the client.

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect } from "vitest";
import type { Build } from "@skerry/contract/builds/build";
import { Skerry } from "@skerry/sdk";
import { ScriptedServer, sendJson } from "../../../sdk/tests/support/scripted-server.ts";
import type { World } from "../../../control/tests/support/world.ts";
import type { Dashboard } from "./browser.ts";

const run = promisify(execFile);
/** As it was built, which starts several times faster than from its sources. */
const CLI = join(import.meta.dirname, "../../../../dist/skerry.js");
const document = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../../control/openapi.json"), "utf8"),
) as { readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>> };

/** Of one menu, by what it is copied as. */
export type Menu = Readonly<Record<string, string>>;

const KINDS = ["As curl", "As CLI", "As TypeScript"] as const;

/** Null where the page has drawn itself anew meanwhile, as it does when its list arrives: what was found is of the page before. */
const READ_MENUS = `(async () => {
  const found = [];
  for (const menu of document.querySelectorAll(".copy-as [popover]")) {
    if (!menu.isConnected) return null;
    menu.showPopover();
    while (menu.isConnected && menu.querySelector("pre") === null) await new Promise(requestAnimationFrame);
    if (!menu.isConnected) return null;
    found.push(Object.fromEntries([...menu.querySelectorAll("pre")].map((one) => [one.getAttribute("aria-label"), one.textContent])));
    menu.hidePopover();
  }
  return found;
})()`;

export class Copied {
  /** Where a person would be who pastes it. */
  folder = "";
  readonly #world: World;
  readonly #dashboard: Dashboard;

  constructor(world: World, dashboard: Dashboard) {
    this.#world = world;
    this.#dashboard = dashboard;
  }

  /** Every menu that the page has, opened in turn. */
  async menus(): Promise<readonly Menu[]> {
    await this.#dashboard.page.locator(".copy-as").first().waitFor({ state: "attached" });
    const read = () => this.#dashboard.page.evaluate<readonly Menu[] | null>(READ_MENUS);
    let found: readonly Menu[] | null = null;
    await expect.poll(async () => (found = await read())).not.toBeNull();
    return found ?? [];
  }

  /** The words that a shell makes of a command line. */
  async words(line: string): Promise<readonly string[]> {
    const program = line.slice(0, line.indexOf(" "));
    const env = { PATH: process.env["PATH"], SKERRY_API_TOKEN: this.#world.token };
    const { stdout } = await run("sh", ["-c", `${program}() { printf '%s\\0' "$@"; }\n${line}`], { env });
    return stdout.split("\0").slice(0, -1);
  }

  async tryCurl(line: string): Promise<void> {
    const args = await this.words(line);
    const after = (flag: string) => args[args.indexOf(flag) + 1] ?? "";
    const method = args.includes("-X") ? after("-X") : "GET";
    const url = new URL(args.find((one) => one.startsWith("http")) ?? "");
    const pattern = Object.keys(document.paths).find((path) => isOf(path, url.pathname));
    expect(Object.keys(document.paths[pattern ?? ""] ?? {}), line).toContain(method.toLowerCase());
    const { stdout } = await run("curl", ["-sS", "-w", "\n%{http_code}", ...args], { cwd: this.folder });
    expect(stdout.trimEnd().split("\n").at(-1), `${line}\n${stdout}`).toMatch(/^2\d\d$/);
  }

  /** The body of the build that the command line asks a server for, which answers as if it had built at once. */
  async requestedBuild(line: string, build: Build): Promise<unknown> {
    await using server = await ScriptedServer.start((response, { method, url }) => {
      if (method === "POST") return sendJson(response, 201, build);
      if (!url.includes("/logs")) return sendJson(response, 200, { ...build, status: "ready" });
      response.writeHead(200, { "content-type": "text/event-stream" });
      return response.end("event: end\ndata: {}\n\n");
    });
    await this.tryCommand(line, server.baseUrl);
    const [asked] = server.received;
    expect([asked?.method, asked?.url]).toEqual(["POST", "/v1/templates"]);
    return JSON.parse(asked?.body.toString() ?? "");
  }

  async tryCommand(line: string, url = this.#dashboard.url): Promise<void> {
    const env = {
      PATH: process.env["PATH"],
      HOME: "/nonexistent",
      SKERRY_QUIET: "1",
      SKERRY_API_URL: url,
      SKERRY_API_TOKEN: this.#world.token,
    };
    await run(process.execPath, [CLI, ...(await this.words(line))], { env, cwd: this.folder });
  }

  async tryTypeScript(text: string): Promise<void> {
    const skerry = new Skerry({ baseUrl: this.#dashboard.url, token: this.#world.token });
    const lines: unknown[] = [];
    // A function has no imports of its own.
    const body = text.replace(/^import \{ readFile \} from "node:fs\/promises";\n/, "");
    // eslint-disable-next-line no-new-func, typescript/no-implied-eval -- it is what a person would paste.
    const pasted = new Function("skerry", "console", "readFile", `return (async () => { ${body} })()`) as (
      skerry: Skerry,
      console: { log: (line: unknown) => void },
      readFile: (path: string, encoding?: BufferEncoding | null) => Promise<Buffer | string>,
    ) => Promise<void>;
    await pasted(skerry, { log: (line) => void lines.push(line) }, (path, encoding = null) =>
      readFile(join(this.folder, path), encoding),
    );
  }

  /** Each as it is, but for what `changed` makes of it: what is made by one cannot be made by the next under the same name. */
  async tryAll(all: readonly Menu[], changed = (text: string, _nth: number) => text): Promise<void> {
    for (const menu of all) {
      expect(Object.keys(menu)).toEqual(KINDS);
      const [curl, cli, typescript] = KINDS.map((kind, nth) => changed(menu[kind] ?? "", nth));
      await this.#world.keepHostsFresh();
      await this.tryCurl(curl ?? "");
      await this.tryCommand(cli ?? "");
      await this.tryTypeScript(typescript ?? "");
    }
  }

  /** The menu of the question that is asked, by its command. */
  async asked(command: string): Promise<Menu> {
    await this.#dashboard.page.locator(".confirm").waitFor();
    return this.menuOf(command);
  }

  /** The one menu that has it, once the page shows it: what was done before may still change the page, as a machine's stages do. */
  async menuOf(command: string): Promise<Menu> {
    let found: readonly Menu[] = [];
    const count = async () => {
      found = (await this.menus()).filter((menu) => menu["As CLI"]?.includes(command) === true);
      return found.length;
    };
    await expect.poll(count, { message: command }).toBe(1);
    return found[0] ?? {};
  }

  /** On a page, what a button of it sends, and what has to be so before each of the three is tried. */
  async tryButton(button: string, command: string, before?: () => Promise<unknown>): Promise<void> {
    await this.#dashboard.page.getByRole("button", { name: button, exact: true }).waitFor();
    const menu = await this.menuOf(command);
    expect(Object.keys(menu)).toEqual(KINDS);
    for (const [kind, attempt] of [
      ["As curl", (text: string) => this.tryCurl(text)],
      ["As CLI", (text: string) => this.tryCommand(text)],
      ["As TypeScript", (text: string) => this.tryTypeScript(text)],
    ] as const) {
      // A host that was not heard of for a while gets nothing, and this takes as long as the machine is busy.
      await this.#world.keepHostsFresh();
      await before?.();
      await attempt(menu[kind] ?? "");
    }
  }
}

/** Whether the path is one of the pattern's, such as `/v1/sandboxes/{id}/files/{path}`, whose last part may have slashes. */
function isOf(pattern: string, path: string): boolean {
  const source = pattern.replace(/\{path\}$/, ".+").replaceAll(/\{[a-z_]+\}/g, "[^/]+");
  return new RegExp(`^${source}$`).test(path);
}

/** Three that can each be ended once. */
export async function three(make: (nth: number) => Promise<string>): Promise<readonly string[]> {
  return [await make(0), await make(1), await make(2)];
}

export const inTurn = (ids: readonly string[]) => (text: string, nth: number) =>
  text.replaceAll(ids[0] ?? "", ids[nth] ?? "");

export function useCopied(world: World, dashboard: Dashboard): Copied {
  const copied = new Copied(world, dashboard);
  beforeAll(async () => {
    copied.folder = await mkdtemp(join(tmpdir(), "skerry-copied-"));
  });
  afterAll(() => rm(copied.folder, { recursive: true }));
  return copied;
}
