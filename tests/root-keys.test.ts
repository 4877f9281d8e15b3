// `skerry key`: the root key is changed while Skerry runs, and what was sealed before opens all the same.

import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { eagerServices, newInstallation, nothingWaits, openPlatform, skerry } from "./support/platform.ts";

interface Key {
  readonly id: string;
  readonly in_file: boolean;
  readonly seals: boolean;
  readonly data_keys: number;
}

let state: string;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  ({ state, env } = await newInstallation({
    assets: inject("assets"),
    env: { ...eagerServices, ...nothingWaits },
  }));
  await skerry(env, "up");
});
afterAll(async () => {
  await skerry(env, "down").catch(() => undefined);
  await rm(state, { recursive: true, force: true });
});

const keys = async (): Promise<readonly Key[]> =>
  (JSON.parse(await skerry(env, "key", "check", "--json")) as { keys: Key[] }).keys;

const HASH = "ab".repeat(32);

interface SigningKey {
  readonly id: string;
  readonly signs: boolean;
  readonly opens: boolean;
}

const signingKeys = async (): Promise<readonly SigningKey[]> =>
  (JSON.parse(await skerry(env, "key", "check", "--json")) as { signing: SigningKey[] }).signing;

test("a new signing key is made, what the one before has signed is valid until that is retired, and the check shows both", async () => {
  const { apiUrl, token } = await openPlatform(state, env);
  const asked = await fetch(`${apiUrl}/e2b/templates/any/files/${HASH}`, { headers: { "x-api-key": token } });
  const { url } = (await asked.json()) as { url: string };
  const statusOf = async () => (await fetch(url, { method: "PUT", body: "an archive" })).status;
  expect(await statusOf()).toBe(200);
  const [first, ...others] = await signingKeys();
  expect([first?.signs, first?.opens, others.length]).toEqual([true, true, 0]);

  await skerry(env, "key", "rotate", "--signing");
  const rotated = await signingKeys();
  expect(rotated.map(({ opens }) => opens)).toEqual([true, true]);
  expect(rotated[1]?.id).toBe(first?.id);
  expect(await statusOf()).toBe(200);

  await skerry(env, "key", "retire", "--signing");
  await expect.poll(statusOf).toBe(401);
  expect(await skerry(env, "key", "check")).toContain(rotated[0]?.id);
  expect(await signingKeys()).toMatchObject([{ id: rotated[0]?.id, signs: true, opens: true }]);
});

test("a new root key seals all that is there, the old one is retired, and no secret is lost on the way", async () => {
  const { client } = await openPlatform(state, env);
  const login = { username: "builder", password: "a password" };
  await client.registries.set("one.example.com", login);
  await client.secrets.set("API_KEY", { value: "sealed before" });
  const [first] = await keys();
  expect(await keys()).toEqual([
    { id: first?.id, in_file: true, seals: true, data_keys: expect.any(Number) },
  ]);
  expect(first?.data_keys).toBeGreaterThan(0);

  await skerry(env, "key", "rotate");
  const rotated = await keys();
  expect(rotated.map(({ seals, data_keys }) => [seals, data_keys])).toEqual([
    [true, first?.data_keys],
    [false, 0],
  ]);
  expect(rotated[1]?.id).toBe(first?.id);
  // Control has not been started again since.
  await client.registries.set("two.example.com", login);

  await skerry(env, "key", "retire");
  expect((await keys()).map(({ id }) => id)).toEqual([rotated[0]?.id]);
  expect(await readFile(join(state, "keys/root.key"), "utf8")).not.toContain(first?.id);
  await skerry(env, "down");
  await skerry(env, "up");
  const again = (await openPlatform(state, env)).client;
  await again.registries.set("three.example.com", login);
  const sandbox = await again.sandboxes.create({ template: "base", secrets: [{ name: "API_KEY" }] });
  expect((await sandbox.execute("echo $API_KEY")).stdout).toBe("sealed before\n");
  await sandbox.destroy();
  expect(await skerry(env, "key", "check")).toContain("yes");
  await skerry(env, "key", "retire");
  expect(await keys()).toHaveLength(1);
});
