// Folders as people have them, launched with one command: a page, and servers with the frameworks of most
// apps on Node. What `detected-apps.test.ts` builds of each kind is tried here from the folder to the
// address.

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { fullTest } from "./support/full-test.ts";
import { freePort, startPlatform, type Platform } from "./support/platform.ts";
import { run } from "./support/run.ts";

const MINUTE_MS = 60_000;
const port = await freePort();
let platform: Platform;
let home: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "skerry-launches-"));
  platform = await startPlatform({
    assets: inject("assets"),
    env: { SKERRY_EDGE_HTTP: `127.0.0.1:${port}` },
  });
});
afterAll(async () => {
  await platform.stop();
  await rm(home, { recursive: true });
});

async function ask(app: string, path: string): Promise<string> {
  const words = ["-s", "-m", "60", "-w", " %{http_code}", "-H", `Host: ${app}.localhost`];
  return run("curl", ...words, `http://127.0.0.1:${port}${path}`);
}

/** Launches a folder with these files, or deploys one that has a `skerry.toml`. */
async function launch(app: string, files: Readonly<Record<string, string>>): Promise<void> {
  const verb = files["skerry.toml"] === undefined ? "launch" : "deploy";
  const folder = join(home, app);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  const env = { HOME: home, SKERRY_API_URL: platform.apiUrl, SKERRY_API_TOKEN: platform.token };
  const program = join(import.meta.dirname, "../dist/skerry.js");
  const { stdout } = await promisify(execFile)(process.execPath, [program, verb], { cwd: folder, env });
  expect(stdout).toContain(`${app}.localhost`);
}

test("a page with its folders is launched, and served as it is", async () => {
  await launch("page", {
    "index.html": "<h1>first</h1>",
    "docs/index.html": "<h1>docs</h1>",
    "style.css": "a { color: red }",
  });
  expect(await ask("page", "/")).toBe("<h1>first</h1> 200");
  expect(await ask("page", "/docs/")).toBe("<h1>docs</h1> 200");
  expect(await ask("page", "/style.css")).toBe("a { color: red } 200");
  expect(await ask("page", "/none")).toMatch(/ 404$/);
  await platform.client.apps.delete("page");
});

/** One file with the framework in it, as fetched from the registry: a build of it needs no network. */
async function bundled(name: string, source: string): Promise<Readonly<Record<string, string>>> {
  const folder = join(home, `made-${name}`);
  await mkdir(folder);
  await writeFile(join(folder, "package.json"), "{}");
  const install = ["install", "--no-audit", "--no-fund", "--ignore-scripts", name];
  await promisify(execFile)("npm", install, { cwd: folder, timeout: 2 * MINUTE_MS });
  await writeFile(join(folder, "app.js"), source);
  const made = await build({
    ...{ entryPoints: [join(folder, "app.js")], bundle: true, platform: "node", write: false },
  });
  return {
    "package.json": JSON.stringify({ scripts: { start: "node server.js" } }),
    // npm takes more than half a minute to begin where guests are emulated.
    "skerry.toml": `app = "${name}"\n[[services]]\ngroup = "web"\nport = 8080\ncheck = { path = "/", grace = "4m" }\n`,
    "server.js": made.outputFiles[0]?.text ?? "",
  };
}

const servers = {
  express: `
    const app = require("express")();
    app.get("/", (request, response) => response.send("express for " + request.hostname));
    app.post("/", require("express").json(), (request, response) => response.json({ got: request.body }));
    app.set("trust proxy", true);
    app.listen(process.env.PORT);`,
  fastify: `
    const app = require("fastify")({ trustProxy: true });
    app.get("/", async (request) => "fastify for " + request.hostname);
    app.post("/", async (request) => ({ got: request.body }));
    app.listen({ port: Number(process.env.PORT), host: "0.0.0.0" });`,
} as const;

fullTest.each(Object.entries(servers))(
  "a server with %s is built from its folder, and answers what is sent to it",
  async (name, source) => {
    await launch(name, await bundled(name, source));
    expect(await ask(name, "/")).toBe(`${name} for ${name}.localhost 200`);
    const words = ["-s", "-H", `Host: ${name}.localhost`, "-H", "Content-Type: application/json"];
    const posted = await run("curl", ...words, "-d", '{"a": [1]}', `http://127.0.0.1:${port}/`);
    expect(JSON.parse(posted)).toEqual({ got: { a: [1] } });
    await platform.client.apps.delete(name);
  },
  15 * MINUTE_MS,
);
