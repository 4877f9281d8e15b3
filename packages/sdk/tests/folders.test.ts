import { truncateSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { BuildRequest } from "@skerry/contract/builds/build-request";
import { readFolder } from "../src/folder/read-folder.ts";
import * as noFolder from "../src/folder/no-folder.ts";
import { Skerry, SkerryInputError } from "../src/skerry.ts";
import { ScriptedServer, sendJson } from "./support/scripted-server.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-sdk-folder-"));
  await mkdir(join(folder, "node_modules/left"), { recursive: true });
  await writeFile(join(folder, "node_modules/left/index.js"), "left out");
  await writeFile(join(folder, "package.json"), '{"scripts":{"start":"node server.js"}}');
  await writeFile(join(folder, "server.js"), "the server");
});
afterEach(() => rm(folder, { recursive: true }));

/** A server that takes a build, with what it was asked and sent. `isCached`: it wants no context. */
async function buildServer(isCached = false) {
  const requests: BuildRequest[] = [];
  const contexts: string[] = [];
  const build = { id: "bld_0", name: "web", status: "ready", waits_for_context: !isCached };
  const server = await ScriptedServer.start((response, { method, url, body }) => {
    if (method === "POST") requests.push(JSON.parse(body.toString()) as BuildRequest);
    if (method === "PUT") contexts.push(body.toString("latin1"));
    if (!url.includes("/logs")) return sendJson(response, method === "POST" ? 201 : 200, build);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end("event: end\ndata: {}\n\n");
  });
  const client = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  return { client, requests, contexts, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test("a folder is detected and sent, and what the request says counts more", async () => {
  await using server = await buildServer();
  const request = { name: "web", tag: "42", env: { A: "1" }, start: { command: "node other.js" } };
  expect(await server.client.templates.buildFolder(folder, request)).toMatchObject({ status: "ready" });
  const [asked] = server.requests;
  expect(asked).toMatchObject({ name: "web", tag: "42", from: "node", context: true, start: request.start });
  expect(asked?.steps?.[0]).toEqual({ env: { A: "1" } });
  expect(Object.keys(asked?.context_digests ?? {})).toEqual(["."]);
  expect(server.contexts).toEqual([expect.stringContaining("the server")]);
  expect(server.contexts[0]).not.toContain("left out");
});

test("steps and a Dockerfile are built as they are asked for", async () => {
  await using server = await buildServer();
  const { templates } = server.client;
  const steps = [{ copy: { from: "server.js", to: "/srv/" } }];
  await templates.buildFolder(folder, { name: "web", steps, env: { A: "1" }, no_cache: true });
  const text = "FROM base\nCOPY server.js /srv/\n";
  await writeFile(join(folder, "Other"), text);
  await templates.buildFolder(folder, { name: "web", dockerfile: { path: "Other" } });
  expect(server.requests).toEqual([
    { name: "web", steps, env: { A: "1" }, no_cache: true, context: true },
    {
      ...{ name: "web", dockerfile: { path: "Other", text }, context: true },
      context_digests: { ".": expect.any(String) as string },
    },
  ]);
  const refused = await templates
    .buildFolder(folder, { name: "web", dockerfile: { path: "None" } })
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "no_dockerfile", name: "SkerryInputError" });
});

test("a Dockerfile's text that the request has is built, whatever the folder has", async () => {
  await using server = await buildServer();
  await writeFile(join(folder, "Dockerfile"), "FROM base\nRUN theirs\n");
  const dockerfile = { text: "FROM base\nRUN mine\n" };
  await server.client.templates.buildFolder(folder, { name: "web", dockerfile });
  expect(server.requests).toEqual([expect.objectContaining({ dockerfile })]);
});

test("no link leads to a file that is not the folder's own", async () => {
  await using server = await buildServer();
  const { templates } = server.client;
  const secrets = await mkdtemp(join(tmpdir(), "skerry-sdk-secrets-"));
  try {
    await writeFile(join(secrets, "key"), "s3cret");
    await rm(join(folder, "package.json"));
    await symlink(join(secrets, "key"), join(folder, "Dockerfile"));
    await symlink(secrets, join(folder, "deploy"));
    await templates.buildFolder(folder, { name: "web" });
    await templates.buildFolder(folder, { name: "web", dockerfile: {} });
    await expect(
      templates.buildFolder(folder, { name: "web", dockerfile: { path: "deploy/key" } }),
    ).rejects.toMatchObject({ code: "no_dockerfile" });
    expect(server.requests).toHaveLength(2);
    expect(JSON.stringify([server.requests, server.contexts])).not.toContain("s3cret");
  } finally {
    await rm(secrets, { recursive: true });
  }
});

test("variables of the request count more than those that are detected, and lead its port", async () => {
  const { templates } = new Skerry({ baseUrl: "http://127.0.0.1:1", token: "sk_test" });
  const env = { NODE_ENV: "development", PORT: "9000" };
  const { config } = await templates.planFolder(folder, { env, user: "node", workdir: "/w" });
  expect(config).toMatchObject({ env, user: "node", workdir: "/w", start: { ready: { port: 9_000 } } });
});

test("what is not sent holds no file open, and what changes while it is sent is told", async () => {
  const large = join(folder, "large");
  const size = 8 * 1024 * 1024;
  await writeFile(large, Buffer.alloc(size));
  const opened = async () => {
    const files = await readdir("/proc/self/fd");
    const leads = await Promise.all(files.map((file) => readlink(`/proc/self/fd/${file}`).catch(() => "")));
    return leads.filter((lead) => lead.startsWith(folder));
  };
  await using cached = await buildServer(true);
  await cached.client.templates.buildFolder(folder, { name: "web" });
  expect(cached.contexts).toEqual([]);
  const nowhere = new Skerry({ baseUrl: "http://127.0.0.1:1", token: "sk_test" });
  await expect(nowhere.templates.buildFolder(folder, { name: "web" })).rejects.toMatchObject({
    code: "connection_failed",
  });
  expect(await opened()).toEqual([]);
  await using server = await buildServer();
  const onBuild = () => truncateSync(large, 10);
  await expect(
    server.client.templates.buildFolder(folder, { name: "web" }, { onBuild }),
  ).rejects.toMatchObject({ code: "file_changed" });
  await vi.waitFor(async () => expect(await opened()).toEqual([]));
});

test("the plan of a folder says what a build would do, and why, and asks no server", async () => {
  const { templates } = new Skerry({ baseUrl: "http://127.0.0.1:1", token: "sk_test" });
  const plan = await templates.planFolder(folder, { env: { A: "1" } });
  expect(plan).toMatchObject({ on: { template: "node" }, config: { env: { A: "1", PORT: "8080" } } });
  expect(plan.why).toContain("`npm start` starts it.");
  expect(plan.steps[0]).not.toHaveProperty("command");
  const missing = await templates.planFolder(join(folder, "server.js")).catch((error: unknown) => error);
  expect(missing).toMatchObject({ code: "not_directory" });
  await expect(templates.planFolder(join(folder, "none"))).rejects.toMatchObject({ code: "no_folder" });
  await rm(join(folder, "package.json"));
  const nothing = await templates.planFolder(folder).catch((error: unknown) => error);
  expect(nothing).toMatchObject({ code: "app_not_detected", name: "SkerryInputError" });
  await writeFile(join(folder, ".dockerignore"), "#".repeat(1024 * 1024 + 1));
  await expect(templates.planFolder(folder)).rejects.toMatchObject({ code: "invalid_build" });
});

test("a .dockerignore that cannot be read lets nothing in", async () => {
  const { templates } = new Skerry({ baseUrl: "http://127.0.0.1:1", token: "sk_test" });
  const refused = (message: string) =>
    expect(templates.planFolder(folder)).rejects.toMatchObject({ code: "invalid_build", message });
  const ignore = join(folder, ".dockerignore");
  await writeFile(ignore, "node_modules\n*.[kp\n");
  await refused('.dockerignore, line 2: "*.[kp" is no pattern.');
  await rm(ignore);
  for (const make of [
    () => symlink("package.json", ignore),
    () => symlink("none", ignore),
    () => mkdir(ignore),
  ]) {
    await make();
    await refused(".dockerignore is no file of the folder itself.");
    await rm(ignore, { recursive: true });
  }
});

test("where there are no files, a folder is refused with what to do", async () => {
  await expect(noFolder.readFolder(folder)).rejects.toThrow(SkerryInputError);
  await expect(noFolder.packFolder(await readFolder(folder), true)).rejects.toMatchObject({
    code: "no_folders",
  });
  expect(() => noFolder.planShown({ request: {}, processes: [], why: [] })).toThrow(/no folders here/);
});
