// `skerry backup` and `skerry restore`, by restoring.

import { execFile } from "node:child_process";
import { readdir, readFile, rm, stat, writeFile, mkdir, open, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Skerry } from "@skerry/sdk";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { joinHost, type SecondHost } from "./support/second-host.ts";
import {
  eagerServices,
  newInstallation,
  nothingWaits,
  openPlatform,
  skerry,
  startPlatform,
  type Platform,
} from "./support/platform.ts";
import { run } from "./support/run.ts";

let original: Platform;
let host: SecondHost;
let folder: string;
let file: string;

beforeAll(async () => {
  folder = await mkdtemp("/tmp/skerry-backups-");
  file = join(folder, "skerry.backup");
  original = await startPlatform({ assets: inject("assets"), env: { ...eagerServices, ...nothingWaits } });
  host = await joinHost(original);
});

afterAll(async () => {
  await host?.stop();
  await original?.stop();
  await rm(folder, { recursive: true, force: true });
});

function rootKey(): string {
  return join(original.state, "keys/root.key");
}

/** An empty installation, which is stopped and removed. */
async function empty(env: Readonly<Record<string, string>> = {}) {
  const made = await newInstallation({
    assets: inject("assets"),
    env: { ...eagerServices, ...nothingWaits, ...env },
  });
  return {
    ...made,
    async [Symbol.asyncDispose]() {
      await skerry(made.env, "down").catch(() => undefined);
      await rm(made.state, { recursive: true, force: true });
    },
  };
}

test("a restored platform answers with the same tokens, and its hosts obey it when its operator says so", async () => {
  const org = (await skerry(original.env, "org", "create", "Example Ltd")).trim();
  const token = (await skerry(original.env, "auth", "token", "--name", "ci")).trim();
  const before = await original.client.sandboxes.create({ template: "base", name: "before" });
  const { id } = before.info;
  await before.destroy();

  const lastBackup = async () => (await original.client.status()).last_backup;
  expect(await lastBackup()).toBeNull();
  await skerry(original.env, "backup", file);
  expect(Date.parse(String(await lastBackup()))).toBeGreaterThan(0);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(["skerry.backup"]);
  const first = await readFile(file);
  await expect(skerry(original.env, "backup", file)).rejects.toThrow("file_exists");
  await expect(skerry(original.env, "backup", folder)).rejects.toThrow(`${folder} is a directory`);
  expect((await readFile(file)).equals(first)).toBe(true);
  await skerry(original.env, "backup", "--force", file);
  expect((await run("tar", "--list", "--file", file)).split("\n")).toContain("database.dump");
  const manifest: unknown = JSON.parse(await run("tar", "-xOf", file, "manifest.json"));
  expect(manifest).toMatchObject({ skerry: (await skerry(original.env, "--version")).trim() });

  await using copy = await empty();
  const key = join(copy.state, "keys/root.key");
  await expect(skerry(copy.env, "restore", file)).rejects.toThrow("which is not here");
  const said = await skerry(copy.env, "restore", "--accept-unverified", file);
  expect(said).toContain("Its hosts on other machines (1) still obey");
  expect(said).toContain(`put the copy of the root key file in the place of ${key}`);
  await skerry(copy.env, "up");
  // None is made in its place. Both keys and folder are root's.
  expect(await readdir(join(copy.state, "keys"))).toEqual(["root.key.awaited"]);
  await run("cp", "-p", join(original.state, "keys/root.key"), key);
  const { uid, mode } = await stat(key);
  expect([uid, mode & 0o777]).toEqual([0, 0o440]);
  expect(JSON.parse(await skerry(copy.env, "key", "check", "--json"))).toMatchObject({ authority: "sealed" });
  const { apiUrl } = await openPlatform(copy.state, copy.env);
  const client = new Skerry({ baseUrl: apiUrl, token });
  expect((await client.sandboxes.get(id)).info).toMatchObject({ name: "before", status: "destroyed" });
  expect(await skerry(copy.env, "org", "list")).toContain(org);
  await using sandbox = await client.sandboxes.create({ template: "base" });
  expect((await sandbox.execute("echo here")).stdout).toBe("here\n");

  // Two control planes, and the host obeys one of them.
  const statusIn = async (at: Skerry) => (await at.hosts.get(host.id)).status;
  expect(await statusIn(original.client)).toBe("online");
  await expect.poll(() => statusIn(client)).toBe("offline");
  expect(await statusIn(original.client)).toBe("online");
  expect(await skerry(copy.env, "take-over")).toContain(
    "the hosts on other machines (1) obey this control plane",
  );
  await expect.poll(() => statusIn(client)).toBe("online");
  await expect.poll(() => statusIn(original.client)).toBe("offline");
  const log = await run("cat", join(original.state, "log/control.log"));
  expect(log).toContain("This host obeys a control plane that was restored from a backup of this one.");
  await skerry(original.env, "take-over");
  await expect.poll(() => statusIn(original.client)).toBe("online");
});

test("a backup is made while Skerry is down, too, and it is down afterwards", async () => {
  await using copy = await empty();
  const said = await skerry(copy.env, "restore", "--root-key", rootKey(), file);
  expect(said).not.toMatch(/not known which installation|Left out|root key/);
  // It is put in its place, and seals and signs there.
  const key = join(copy.state, "keys/root.key");
  const { uid, mode } = await stat(key);
  expect([uid, mode & 0o777]).toEqual([0, 0o440]);
  expect(await readFile(key, "utf8")).toBe(await readFile(rootKey(), "utf8"));
  await skerry(copy.env, "backup", join(folder, "again.backup"));
  await using other = await empty({ SKERRY_ROOT_KEY_FILE: rootKey() });
  await skerry(other.env, "restore", join(folder, "again.backup"));
  expect((await stat(join(folder, "again.backup"))).size).toBeGreaterThan(10_000);
  expect(await run("pgrep", "-f", copy.state).catch(() => "none")).toBe("none");
});

test("nothing is restored over what is there, and a restore that broke off is begun anew", async () => {
  await using copy = await empty();
  const restore = () => skerry(copy.env, "restore", "--root-key", rootKey(), file);
  await writeFile(join(copy.state, "mine"), "");
  await expect(restore()).rejects.toThrow("state_not_empty");
  await rm(join(copy.state, "mine"));
  // As a kill in the middle leaves it.
  await restore();
  await writeFile(join(copy.state, "restoring"), file);
  await expect(skerry(copy.env, "up")).rejects.toThrow("restore_unfinished");
  await restore();
  expect(await readdir(copy.state)).not.toContain("restoring");
});

test("a damaged file, and one that was cut off, change nothing", async () => {
  await using copy = await empty();
  const damaged = join(folder, "damaged.backup");
  await run("cp", file, damaged);
  {
    await using handle = await open(damaged, "r+");
    await handle.write(Buffer.from([0x7f]), 0, 1, 3_000);
  }
  await expect(skerry(copy.env, "restore", "--root-key", rootKey(), damaged)).rejects.toThrow(
    "database.dump is not what was written",
  );
  await run("truncate", "--size=8000", damaged);
  await expect(skerry(copy.env, "restore", "--root-key", rootKey(), damaged)).rejects.toThrow(
    "backup_damaged",
  );
  expect(await readdir(copy.state)).toEqual([]);
});

test("where the disk fills up, no part of a backup stays", async () => {
  const small = join(folder, "small");
  await mkdir(small);
  await run("mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", small);
  try {
    await expect(skerry(original.env, "backup", join(small, "skerry.backup"))).rejects.toThrow("disk_full");
    expect(await readdir(small)).toEqual([]);
  } finally {
    await promisify(execFile)("umount", [small]);
  }
});
