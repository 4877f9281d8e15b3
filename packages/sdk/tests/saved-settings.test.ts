// What a client uses where it is given nothing.

import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  configPath,
  findSettings,
  localConfigPath,
  type SavedConfig,
} from "../src/settings/saved-settings.ts";
import { findSettings as findNoSettings } from "../src/settings/no-saved-settings.ts";
import { Skerry, SkerryInputError } from "../src/skerry.ts";
import { ScriptedServer, sendJson } from "./support/scripted-server.ts";

let folder: string;
let env: Readonly<Record<string, string>>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-settings-"));
  env = { XDG_CONFIG_HOME: folder };
  vi.stubEnv("XDG_CONFIG_HOME", folder);
  for (const name of ["SKERRY_API_URL", "SKERRY_API_TOKEN", "SKERRY_ORG_ID"]) vi.stubEnv(name, "");
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

async function save(config: Partial<SavedConfig>, path = configPath(env)): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
}

function sizeServer() {
  return ScriptedServer.start((response) => sendJson(response, 200, { items: [] }));
}

test("a client that is given nothing uses what is saved, and the environment before that", async () => {
  await using server = await sizeServer();
  await save({ api_url: server.baseUrl, token: "sk_saved", organization: "org_saved" });
  await new Skerry().sizes.list();
  expect(server.last.headers).toMatchObject({ authorization: "Bearer sk_saved", "x-org-id": "org_saved" });
  vi.stubEnv("SKERRY_API_TOKEN", "sk_env");
  await new Skerry().sizes.list();
  expect(server.last.headers.authorization).toBe("Bearer sk_env");
  // The organization was chosen for the saved token.
  expect(server.last.headers["x-org-id"]).toBeUndefined();
  await new Skerry({ token: "sk_given" }).sizes.list();
  expect(server.last.headers.authorization).toBe("Bearer sk_given");
});

test("a saved token goes to the server that it was saved for, and to no other one", async () => {
  await save({ api_url: "https://one.test/", token: "sk_one" });
  expect(findSettings({ baseUrl: "https://one.test" }, env).token).toBe("sk_one");
  for (const baseUrl of [
    "https://two.test",
    "http://one.test",
    "https://one.test:8443",
    "https://one.test/a",
    "no address",
  ])
    expect(findSettings({ baseUrl }, env).token, baseUrl).toBeUndefined();
  const elsewhere = { ...env, SKERRY_API_URL: "https://two.test" };
  expect(findSettings({}, elsewhere)).toEqual({
    baseUrl: "https://two.test",
    token: undefined,
    organization: undefined,
  });
});

test("the server of this machine is found beside the settings for another one", async () => {
  await save({ api_url: "https://one.test", token: "sk_one" });
  await save({ api_url: "http://127.0.0.1:7070", token: "sk_local" }, localConfigPath(env));
  expect(findSettings({ baseUrl: "http://127.0.0.1:7070/" }, env).token).toBe("sk_local");
  expect(findSettings({}, env)).toMatchObject({ baseUrl: "https://one.test", token: "sk_one" });
});

test("without a token the client says what to do before it sends anything", async () => {
  await using server = await sizeServer();
  const make = () => new Skerry({ baseUrl: server.baseUrl });
  expect(make).toThrow(SkerryInputError);
  expect(make).toThrow(
    expect.objectContaining({
      message: expect.stringMatching(/^There is no API token for http/),
      remediation: expect.stringMatching(/SKERRY_API_TOKEN.*skerry auth login/),
    }),
  );
  expect(() => new Skerry()).toThrow("There is no API token for http://127.0.0.1:7070.");
  expect(server.received).toEqual([]);
});

test("settings that other users can read, or that are broken, are refused with what to do", async () => {
  await save({ api_url: "https://one.test", token: "sk_one" });
  await chmod(configPath(env), 0o644);
  expect(() => new Skerry()).toThrow(`Other users can read ${configPath(env)}`);
  // What is given whole needs no file.
  expect(new Skerry({ baseUrl: "https://one.test", token: "sk_given" })).toBeInstanceOf(Skerry);
  await chmod(configPath(env), 0o600);
  for (const text of ["{", "null", '{"token": 5}']) {
    await writeFile(configPath(env), text);
    expect(() => new Skerry(), text).toThrow(expect.objectContaining({ code: "config_broken" }));
  }
});

test("where there is neither an environment nor a file, what is given is all there is", () => {
  const given = { baseUrl: "https://one.test", token: "sk_one", organization: undefined };
  expect(findNoSettings(given)).toEqual(given);
  expect(findNoSettings({})).toEqual({ baseUrl: undefined, token: undefined, organization: undefined });
});
