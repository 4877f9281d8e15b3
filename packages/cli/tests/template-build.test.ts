import { mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { contextDigests } from "../../sdk/src/folder/context-digests.ts";
import { packTree } from "../../sdk/src/folder/tar-writer.ts";
import { Shell } from "./support/shell.ts";

async function write(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

interface PlanJson {
  readonly on: unknown;
  readonly steps: readonly { readonly kind: string; readonly shown: string }[];
  readonly config: unknown;
}

test("a plan is printed without a server: what was found, what would run, and what holds then", async () => {
  await using shell = await Shell.open();
  await write(shell.folder, {
    "app/package.json": '{"scripts":{"start":"node server.js"},"dependencies":{"left":"1"}}',
    "app/package-lock.json": "{}",
    "app/server.js": "",
    "app/node_modules/left/index.html": "",
  });
  const { code, stdout, stderr } = await shell.run("template", "build", "app", "--plan", "--env", "A=1");
  expect([code, stderr]).toEqual([0, ""]);
  const text = stdout.toString();
  expect(text).toContain("npm installs what package-lock.json says.\n");
  expect(text).toMatch(/\n0 +begin on node\n1 +go to \/app\n2 +copy package\.json to \/app\/package\.json\n/);
  expect(text).toMatch(/\n5 +copy \. to \/app\n/);
  expect(text).toMatch(/\nstarts +npm start\n/);
  expect(text).toMatch(/\nA +1\n/);
});

test("as JSON a plan has all that a step sees and copies", async () => {
  await using shell = await Shell.open();
  await write(shell.folder, { "index.html": "" });
  const { stdout } = await shell.run("template", "build", "--plan", "--json");
  const plan = JSON.parse(stdout.toString()) as PlanJson;
  expect(plan.on).toEqual({ template: "base" });
  expect(plan.steps.map(({ kind }) => kind)).toEqual(["workdir", "run", "copy", "seal"]);
  expect(plan.steps[2]).toMatchObject({ shown: "copy . to /app", inputs: ["."], sees: { workdir: "/app" } });
  expect(plan.steps[1]?.shown).toContain("serve_forever()");
});

test("what .dockerignore names is no part of a folder", async () => {
  await using shell = await Shell.open();
  await write(shell.folder, { "package.json": "{}", "index.html": "", ".dockerignore": "package.*\n" });
  const { stdout } = await shell.run("template", "build", "--plan");
  expect(stdout.toString()).toContain("Static files: there is index.html.");
});

test("a folder that cannot be built is refused with what to do", async () => {
  await using shell = await Shell.open();
  await mkdir(join(shell.folder, "empty"));
  await symlink("/etc/passwd", join(shell.folder, "empty/package.json"));
  const link = await shell.run("template", "build", "empty", "--plan");
  expect([link.code, link.stderr]).toEqual([
    1,
    "error: package.json cannot be read, or has more than 1048576 bytes. (invalid_build)\n",
  ]);
  await mkdir(join(shell.folder, "none"));
  const none = await shell.run("template", "build", "none", "--plan", "--json");
  expect(JSON.parse(none.stderr)).toMatchObject({ code: "app_not_detected" });
  await writeFile(join(shell.folder, "file"), "");
  const file = await shell.run("template", "build", "file", "--plan");
  expect(file.stderr).toContain("file is no folder. (not_directory)");
  const missing = await shell.run("template", "build", "missing", "--plan");
  expect(missing.code).toBe(1);
  expect(missing.stderr).toContain("missing");
});

test("a folder larger than a build takes is refused", async () => {
  await using shell = await Shell.open();
  await write(shell.folder, { "index.html": "", large: "" });
  // It takes no room.
  await truncate(join(shell.folder, "large"), 3 * 1024 ** 3);
  const { stderr } = await shell.run("template", "build", "--plan");
  expect(stderr).toBe(
    "error: The folder has more than 2147483648 bytes. (context_too_large)\nName what is not needed in .dockerignore.\n",
  );
});

const build = {
  ...{
    id: "bld_1",
    name: "web",
    tag: "42",
    status: "queued",
    waits_for_context: true,
    steps: [],
    error: null,
  },
  ...{ template_id: null, size: "shared-cpu-4x", host_id: "hst_1", created_at: "2026-11-20T16:41:08.123Z" },
  ...{ started_at: null, finished_at: null, ends_by: "2026-11-20T17:11:08.123Z" },
};

/** Takes a build and its context, tells its log, and then how it has ended. */
function buildServer(end: object) {
  const line = { line: 1, step: 0, time: "2026-11-20T16:41:10.123Z", text: "installed" };
  return ScriptedServer.start((response, { method, url }) => {
    if (method === "POST" && url === "/v1/templates") return sendJson(response, 201, build);
    if (method === "GET" && url.startsWith("/v1/builds/bld_1/logs")) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      return response.end(`event: line\nid: 1\ndata: ${JSON.stringify(line)}\n\nevent: end\ndata: {}\n\n`);
    }
    return sendJson(response, 200, { ...build, ...end });
  });
}

test("a folder is built: what is detected is asked for, its files are sent, and the template's id is printed", async () => {
  await using server = await buildServer({ status: "ready", template_id: "tpl_1" });
  await using shell = await Shell.forServer(server);
  await write(shell.folder, { "web/index.html": "<h1>here</h1>", "web/.git/config": "not sent" });
  const { code, stdout, stderr } = await shell.run(
    "template",
    "build",
    "web",
    "--name",
    "web",
    "--tag",
    "42",
  );
  expect([code, stdout.toString()]).toEqual([0, "tpl_1\n"]);
  expect(stderr).toContain("Static files: there is index.html.\n");
  expect(stderr).toContain("bld_1 builds web:42.\n1  installed\n");
  const [asked, sent] = server.received;
  // Of one file, and not of what is left out.
  const digest = await contextDigests(["."], (await packTree(join(shell.folder, "web"), "", isGit)).items);
  expect(JSON.parse(asked?.body.toString() ?? "").context_digests).toEqual(digest);
  expect(JSON.parse(asked?.body.toString() ?? "")).toMatchObject({
    ...{ name: "web", tag: "42", from: "base", context: true, env: { PORT: "8080" } },
    start: { ready: { port: 8080 } },
    steps: [{ workdir: "/app" }, {}, { copy: { from: ".", to: "/app" } }],
  });
  expect([sent?.method, sent?.url]).toEqual(["PUT", "/v1/builds/bld_1/context"]);
  expect(sent?.body.toString()).toContain("<h1>here</h1>");
  expect(sent?.body.toString()).not.toContain("not sent");
});

function isGit(name: string): boolean {
  return name === ".git";
}

test("the cache is listed and cleared, and a build can do without", async () => {
  const entry = {
    ...{ id: "tpl_1", kind: "run", name: "npm ci", bytes: 3 * 1024 ** 2, host_id: "hst_1", in_use: true },
    ...{ created_at: "2026-11-20T16:41:08.123Z", last_used_at: new Date().toISOString() },
  };
  await using server = await ScriptedServer.start((response, { method, url }) => {
    if (method === "POST" && url === "/v1/templates")
      return sendJson(response, 201, { ...build, waits_for_context: false });
    if (method === "GET" && url.startsWith("/v1/cache"))
      return sendJson(response, 200, { items: [entry], next_cursor: null });
    if (method === "DELETE") return sendJson(response, 200, { entries: 2, bytes: 1024 ** 2 });
    if (!url.includes("/logs"))
      return sendJson(response, 200, { ...build, status: "ready", template_id: "tpl_1" });
    response.writeHead(200, { "content-type": "text/event-stream" });
    return response.end("event: end\ndata: {}\n\n");
  });
  await using shell = await Shell.forServer(server);
  expect((await shell.run("cache", "list")).stdout.toString()).toMatch(/\nnpm ci +3\.0 MiB .* yes +hst_1\n$/);
  expect(JSON.parse((await shell.run("cache", "list", "--json")).stdout.toString())).toEqual({
    items: [entry],
    next_cursor: null,
  });
  expect((await shell.run("cache", "clear")).stdout.toString()).toBe("2 removed, 1.0 MiB\n");
  await write(shell.folder, { "index.html": "" });
  expect((await shell.run("template", "build", "--name", "web", "--no-cache")).code).toBe(0);
  const [asked] = server.received.filter(({ method }) => method === "POST");
  const body = JSON.parse(asked?.body.toString() ?? "") as Record<string, unknown>;
  expect([body["no_cache"], body["context_digests"]]).toEqual([true, undefined]);
  // Nothing is sent where nothing is waited for.
  expect(server.received.some(({ method }) => method === "PUT")).toBe(false);
});

test("bounds, egress and secrets of a build are sent with it, and a secret before the folder", async () => {
  await using server = await buildServer({ status: "ready", template_id: "tpl_1" });
  await using shell = await Shell.forServer(server);
  await write(shell.folder, { "web/Dockerfile": "FROM scratch\n", token: "s3cret" });
  const secret = `token=${join(shell.folder, "token")}`;
  const bounds = ["--timeout", "20m", "--step-timeout", "5m", "--size", "shared-cpu-2x"];
  const flags = [...bounds, "--egress-allow-domain", "example.com", "--secret", secret];
  const { code } = await shell.run(
    "template",
    "build",
    "web",
    "--name",
    "web",
    "--dockerfile",
    "Dockerfile",
    ...flags,
  );
  expect(code).toBe(0);
  const [asked, sent, context] = server.received;
  expect(JSON.parse(asked?.body.toString() ?? "")).toMatchObject({
    ...{ timeout: "20m", step_timeout: "5m", size: "shared-cpu-2x" },
    egress: { mode: "deny_all", allow_domains: ["example.com"] },
  });
  expect(asked?.body.toString()).not.toContain("s3cret");
  expect([sent?.method, sent?.url, sent?.body.toString()]).toEqual([
    "PUT",
    "/v1/builds/bld_1/secrets/token",
    "s3cret",
  ]);
  expect(context?.url).toBe("/v1/builds/bld_1/context");
});

test("a build that fails says at which step, with what it printed last and where the rest is", async () => {
  const steps = [
    { kind: "run", name: "npm ci", status: "failed", started_at: null, finished_at: null, exit_code: 3 },
  ];
  const message = "The step exited with 3.";
  const error = {
    code: "build_step_failed",
    message,
    step: 0,
    exit_code: 3,
    last_lines: ["no such package"],
  };
  await using server = await buildServer({ status: "failed", steps, error });
  await using shell = await Shell.forServer(server);
  await write(shell.folder, { Dockerfile: "FROM base\n" });
  const { code, stdout, stderr } = await shell.run("template", "build", "--name", "web", "--from", "base");
  expect([code, stdout.toString()]).toEqual([1, ""]);
  expect(stderr).toContain(
    "error: The step exited with 3. The step was: npm ci (build_step_failed)\nThe whole log: skerry build logs bld_1\nno such package\n",
  );
  expect(JSON.parse(server.received[0]?.body.toString() ?? "")).toMatchObject({
    from: "base",
    dockerfile: {},
  });
});

test("lines that came with the log are not printed once more where the build fails", async () => {
  const error = {
    code: "build_step_failed",
    message: "No.",
    step: null,
    exit_code: 3,
    last_lines: ["installed"],
  };
  await using server = await buildServer({ status: "failed", error });
  await using shell = await Shell.forServer(server);
  await write(shell.folder, { Dockerfile: "FROM base\n" });
  const { stderr } = await shell.run("template", "build", "--name", "web");
  expect(stderr.match(/installed/g)).toHaveLength(1);
});

test("without a name nothing is built", async () => {
  await using shell = await Shell.open();
  await write(shell.folder, { "index.html": "" });
  const { code, stderr } = await shell.run("template", "build");
  expect([code, stderr]).toEqual([
    2,
    "error: The template has no name. (no_name)\nGive it one with --name, or see with --plan what would be built.\n",
  ]);
});

test("a snapshot alone is a template, and no folder is read for it", async () => {
  const steps = [{ kind: "seal", name: "clean up", status: "done", exit_code: 0 }];
  await using server = await buildServer({ status: "ready", steps, error: null });
  await using shell = await Shell.forServer(server);
  const from = "snp_01jd0000000000000000000000";
  expect((await shell.run("template", "build", "--from", from, "--name", "kept")).code).toBe(0);
  expect(JSON.parse(server.received[0]?.body.toString() ?? "")).toEqual({ name: "kept", from });
  // With a folder it is what its steps stand on.
  expect((await shell.run("template", "build", ".", "--from", from, "--name", "kept")).stderr).toContain(
    "app_not_detected",
  );
});

test("a repository is named, and nothing of it is read here", async () => {
  const steps = [{ kind: "git", name: "clone", status: "done", exit_code: 0 }];
  const error = {
    code: "app_not_detected",
    message: "Nothing.",
    step: null,
    exit_code: null,
    last_lines: [],
  };
  await using server = await buildServer({ status: "failed", steps, error });
  await using shell = await Shell.forServer(server);
  const build = (...flags: string[]) => shell.run("template", "build", ...flags, "--name", "shop");
  expect((await build("--git", "https://git.example.com/shop.git#v1:web")).stderr).toContain(
    "app_not_detected",
  );
  expect(JSON.parse(server.received[0]?.body.toString() ?? "")).toEqual({
    ...{ name: "shop", git: "https://git.example.com/shop.git#v1:web" },
  });
  for (const flags of [
    ["--git", "file:///etc"],
    ["--git", "https://git.example.com/shop.git", "--plan"],
    ["web", "--git", "https://git.example.com/shop.git"],
  ])
    expect((await build(...flags)).code).not.toBe(0);
});

test("versions are tagged and deleted by NAME:TAG, and a log is printed whole", async () => {
  await using server = await buildServer({});
  await using shell = await Shell.forServer(server);
  expect((await shell.run("build", "logs", "bld_1", "--follow")).stdout.toString()).toBe("installed\n");
  expect((await shell.run("template", "tag", "web:stable", "web:42")).stdout.toString()).toBe(
    "web:stable is web:42\n",
  );
  expect([server.last.method, server.last.url]).toEqual(["PUT", "/v1/templates/web/tags/stable"]);
  expect(JSON.parse(server.last.body.toString())).toEqual({ template: "web:42" });
  expect((await shell.run("template", "untag", "web:stable")).stdout.toString()).toBe("web:stable removed\n");
  expect([server.last.method, server.last.url]).toEqual(["DELETE", "/v1/templates/web/tags/stable"]);
  expect((await shell.run("template", "delete", "web:42")).stdout.toString()).toBe("web:42 deleted\n");
  expect([server.last.method, decodeURIComponent(server.last.url)]).toEqual([
    "DELETE",
    "/v1/templates/web:42",
  ]);
});
