import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { configPath } from "@skerry/sdk/saved-settings";
import { isColorWanted, isQuiet, readSettings, writeConfig } from "../src/config.ts";
import { Shell } from "./support/shell.ts";

function sizeServer() {
  return ScriptedServer.start((response) => sendJson(response, 200, { items: [] }));
}

test("a flag counts more than the environment, and the environment more than the saved file", async () => {
  await using shell = await Shell.open();
  const file = { XDG_CONFIG_HOME: shell.configHome };
  const env = { ...file, SKERRY_API_URL: "http://env", SKERRY_API_TOKEN: "sk_env", SKERRY_ORG_ID: "org_env" };
  const none = { apiUrl: "http://127.0.0.1:7070", token: undefined, organization: undefined };
  expect(readSettings({}, file)).toEqual(none);
  await writeConfig({ api_url: "http://file", token: "sk_file" }, configPath(file));
  expect(readSettings({}, file)).toEqual({ ...none, apiUrl: "http://file", token: "sk_file" });
  expect(readSettings({}, { ...file, SKERRY_API_TOKEN: "sk_env", SKERRY_API_URL: "" })).toEqual({
    ...none,
    apiUrl: "http://file",
    token: "sk_env",
  });
  expect(readSettings({}, env)).toEqual({
    apiUrl: "http://env",
    token: "sk_env",
    organization: "org_env",
  });
  expect(readSettings({ apiUrl: "http://flag", token: "sk_flag", org: "org_flag" }, env)).toEqual({
    apiUrl: "http://flag",
    token: "sk_flag",
    organization: "org_flag",
  });
});

test("the flags reach the server, wherever they stand", async () => {
  await using server = await sizeServer();
  await using shell = await Shell.open({ SKERRY_API_TOKEN: "sk_env" });
  for (const args of [
    ["--api-url", server.baseUrl, "--token", "sk_flag", "--org", "org_1", "size", "list"],
    ["size", "list", "--api-url", server.baseUrl, "--token", "sk_flag", "--org", "org_1"],
  ]) {
    expect((await shell.run(...args)).code).toBe(0);
    expect(server.last.headers).toMatchObject({ authorization: "Bearer sk_flag", "x-org-id": "org_1" });
  }
});

test("the saved settings are readable by their owner alone, also when they replace others", async () => {
  await using shell = await Shell.open();
  const path = configPath({ XDG_CONFIG_HOME: shell.configHome });
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, "old", { mode: 0o644 });
  await writeConfig({ api_url: "http://a", token: "sk_a" }, path);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(path, "utf8"))).toEqual({ api_url: "http://a", token: "sk_a" });
});

test("the file is below XDG_CONFIG_HOME, or below ~/.config", () => {
  expect(configPath({ XDG_CONFIG_HOME: "/x", HOME: "/h" })).toBe("/x/skerry/config.json");
  expect(configPath({ XDG_CONFIG_HOME: "relative", HOME: "/h" })).toBe("/h/.config/skerry/config.json");
  expect(configPath({ HOME: "/h" })).toBe("/h/.config/skerry/config.json");
});

test("the saved settings work as they are; once others can read them, they are refused", async () => {
  await using server = await sizeServer();
  await using shell = await Shell.open();
  const path = configPath({ XDG_CONFIG_HOME: shell.configHome });
  await writeConfig({ api_url: server.baseUrl, token: "sk_file" }, path);
  expect((await shell.run("size", "list")).code).toBe(0);
  expect(server.last.headers.authorization).toBe("Bearer sk_file");
  await chmod(path, 0o644);
  const { code, stderr } = await shell.run("size", "list");
  expect([code, stderr]).toEqual([1, expect.stringContaining(`chmod 600 ${path}`)]);
});

test("a saved token is not sent to another server, and the error says why", async () => {
  await using server = await sizeServer();
  await using shell = await Shell.open();
  await writeConfig(
    { api_url: "https://skerry.example.org", token: "sk_file" },
    configPath({ XDG_CONFIG_HOME: shell.configHome }),
  );
  const { code, stderr } = await shell.run("size", "list", "--api-url", server.baseUrl);
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining(
      `No API token is set for ${server.baseUrl}: the one that is saved is for https://skerry.example.org. (no_token)`,
    ),
  ]);
  expect(stderr).toContain(`skerry login --api-url ${server.baseUrl}`);
  expect(stderr).not.toContain("sk_file");
  expect(server.received).toEqual([]);
});

test("a broken file is named, with what to do", async () => {
  await using shell = await Shell.open();
  const path = join(shell.configHome, "skerry/config.json");
  await mkdir(dirname(path), { recursive: true });
  for (const text of ["{", "null", '{"token": 5}']) {
    await writeFile(path, text, { mode: 0o600 });
    const { code, stderr } = await shell.run("size", "list");
    expect([code, stderr]).toEqual([1, expect.stringMatching(`error: ${path} .* \\(config_broken\\)\n`)]);
  }
});

test("without a token, or without a server, the error says what to do", async () => {
  await using shell = await Shell.open();
  const missing = await shell.run("size", "list");
  expect([missing.code, missing.stderr]).toEqual([
    1,
    expect.stringContaining("(no_token)\nSave one with `skerry login`"),
  ]);
  const server = await sizeServer();
  const { baseUrl } = server;
  await server[Symbol.asyncDispose]();
  const gone = await shell.run("size", "list", "--api-url", baseUrl, "--token", "sk_x");
  expect(gone.code).toBe(1);
  expect(gone.stderr).toContain(`error: Cannot reach Skerry at ${baseUrl}`);
  expect(gone.stderr).toContain("(connection_failed)\n");
  expect(gone.stderr).toContain("skerry up");
});

test("a token that is not valid is never repeated", async () => {
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 401, {
      code: "unauthorized",
      message: "The token is not valid.",
      remediation: "Send a header.",
    }),
  );
  await using shell = await Shell.forServer(server);
  const refused = await shell.run("size", "list");
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining("(unauthorized)\nGive a valid token"),
  ]);
  const malformed = await shell.run("size", "list", "--token", "sk_s ecret");
  expect([malformed.code, malformed.stderr]).toEqual([2, expect.not.stringContaining("ecret")]);
});

test("a script that reads standard error can do without words about waiting", () => {
  expect([isQuiet({}), isQuiet({ SKERRY_QUIET: "" }), isQuiet({ SKERRY_QUIET: "1" })]).toEqual([
    false,
    false,
    true,
  ]);
});

test("colors need a terminal and no NO_COLOR", () => {
  expect([isColorWanted({}), isColorWanted({ NO_COLOR: "" })]).toEqual([true, true]);
  expect([isColorWanted({ NO_COLOR: "1" }), isColorWanted({ TERM: "dumb" })]).toEqual([false, false]);
});
