// What the command line reads of a backup before any database sees it.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatRootKeys, newRootKey, parseRootKeys } from "@skerry/contract/sealing/root-key-file";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ArchiveReader, ArchiveWriter } from "../src/local/backup/archive.ts";
import { readEntries, strangersOf } from "../src/local/backup/dump.ts";
import { readManifest } from "../src/local/backup/manifest.ts";
import { macOf, whyUnverified } from "../src/local/backup/origin.ts";
import { restoreReport } from "../src/local/backup/restore-report.ts";
import { KEPT_FREE_BYTES, whileThereIsRoom } from "../src/local/backup/room.ts";
import { readLayout } from "../src/local/system/layout.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-hostile-backup-"));
  path = join(folder, "one.backup");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function* pieces(...texts: readonly string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

async function write(names: readonly string[], sign?: (text: Uint8Array) => string): Promise<void> {
  await using archive = await ArchiveWriter.create(path);
  for (const name of names) await archive.add(name, pieces("content"));
  await archive.finish({ format: 1 }, sign);
}

test.each([
  ["a name twice", ["database.dump", "database.dump"], "twice"],
  ["a name above its folder", ["../database.dump"], "it is no backup"],
  ["an absolute name", ["/etc/passwd"], "it is no backup"],
  ["a name in a folder", ["a/b"], "it is no backup"],
  ["more parts than a backup", Array.from({ length: 20 }, (_, at) => `part${at}`), "more parts"],
])("an archive with %s is refused", async (_what, names, words) => {
  await write(names);
  await expect(ArchiveReader.open(path)).rejects.toThrow(words);
});

test.each([
  ["a link", "1"],
  ["a symbolic link", "2"],
  ["a device", "3"],
  ["a folder", "5"],
  ["a longer name", "L"],
])("an archive with %s is refused", async (_what, type) => {
  await write(["database.dump"]);
  const file = await readFile(path);
  file.write(type, 156);
  const sum = file.subarray(0, 512).reduce((all, byte, at) => all + (at >= 148 && at < 156 ? 32 : byte), 0);
  file.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  await writeFile(path, file);
  await expect(ArchiveReader.open(path)).rejects.toThrow("it is no backup");
});

test("a part that changes after it was checked is found when it is read", async () => {
  await write(["database.dump"]);
  await using archive = await ArchiveReader.open(path);
  const { contents } = JSON.parse(String(await archive.manifest())) as {
    contents: [{ name: string; bytes: number; sha256: string }];
  };
  await archive.check(contents[0]);
  const file = await readFile(path);
  file.write("CONTENT", 512);
  await writeFile(path, file);
  const reading = async () => {
    for await (const _ of archive.checked(contents[0]));
  };
  await expect(reading()).rejects.toThrow("not what was written");
});

const manifest = {
  format: 1,
  skerry: "0.1.0",
  created_at: "2026-11-22T00:00:00.000Z",
  machine: "node-1.example",
  postgresql: 15,
  migrations: [1, 2],
  organizations: 1,
  joined_hosts: 0,
  contents: [{ name: "database.dump", bytes: 7, sha256: "0".repeat(64) }],
};

test("a manifest is taken where every field is what we write, and refused otherwise", () => {
  const read = (value: unknown) => readManifest(Buffer.from(JSON.stringify(value)), "FILE");
  expect(read(manifest)).toEqual(manifest);
  const [database] = manifest.contents;
  const wrong: readonly unknown[] = [
    ...[null, 7, [], "text", {}],
    ...[{ machine: "a\u001b]0;x\u0007" }, { skerry: "" }, { migrations: "1" }, { migrations: ["1; drop"] }],
    ...[{ contents: [] }, { contents: [database, database] }, { contents: [{ ...database, sha256: "x" }] }],
    ...[{ contents: [database, { ...database, name: "evil.service" }] }, { contents: [null] }],
  ].map((change) =>
    change !== null && typeof change === "object" && !Array.isArray(change) && Object.keys(change).length > 0
      ? { ...manifest, ...change }
      : change,
  );
  for (const one of wrong) expect(() => read(one), JSON.stringify(one)).toThrow("cannot be restored");
  expect(() => readManifest(Buffer.from("{"), "FILE")).toThrow("cannot be restored");
  expect(() => read({ ...manifest, format: 2 })).toThrow("newer format");
});

test("a backup is known by a root key of its installation, and by no other and not after a change", async () => {
  const keys = [newRootKey(), newRootKey()] as const;
  await write(["database.dump"], (text) => macOf(text, keys[1]));
  await using archive = await ArchiveReader.open(path);
  const text = await archive.manifest();
  const mac = await archive.mac();
  expect(whyUnverified(text, mac, parseRootKeys(formatRootKeys(keys)))).toBeUndefined();
  expect(whyUnverified(text, mac, [])).toContain(`root key ${keys[1].id}, which is not here`);
  expect(whyUnverified(text, mac, [keys[0]])).toContain("not here");
  const changed = Buffer.from(String(text).replace("database", "evildump"));
  expect(whyUnverified(changed, mac, keys)).toContain("does not fit");
  // Signed by another key, under the id of ours.
  expect(whyUnverified(text, macOf(text, { id: keys[1].id, key: keys[0].key }), keys)).toContain(
    "does not fit",
  );
  expect(whyUnverified(text, undefined, keys)).toContain("no signature");
  expect(whyUnverified(text, "x", keys)).toContain("cannot be read");
});

test("what a dump has beside the schema of Skerry is named, and its names are printable", () => {
  const entries = readEntries(`;
; Archive created
215; 1259 16401 TABLE public users skerry
3600; 0 16401 TABLE DATA public users skerry
278; 1255 16689 FUNCTION public room_entries_of(public.sandboxes, bigint) skerry
300; 1255 16689 FUNCTION public evil(text) skerry
3500; 2620 17000 TRIGGER public sandboxes sandboxes_noted skerry
3501; 2620 17001 TRIGGER public users evil_trigger skerry
3502; 3466 17002 EVENT TRIGGER - evil\u001b_event skerry
2; 3079 17003 EXTENSION - file_fdw 
3503; 2618 17004 RULE public users evil_rule skerry
3504; 2606 17005 FK CONSTRAINT public users users_fkey skerry
`);
  expect(strangersOf(entries, ["users", "room_entries_of", "sandboxes_noted", "users_fkey"])).toEqual([
    "function evil",
    "trigger evil_trigger",
    "event trigger evil?_event",
    "extension file_fdw",
    "rule evil_rule",
  ]);
});

test("what a restore says of a backup cannot rewrite a terminal", () => {
  const said = restoreReport(readLayout("/dist", {}), manifest, {
    joinedHosts: 0,
    settings: undefined,
    rootKeys: ["\u001b]0;title\u0007"],
    leftOut: ["table \u009b2J"],
    unverified: undefined,
  });
  expect(said).toMatch(/^[\x20-\x7e\n]*$/);
  expect(said).toContain("\\x1b]0;title");
});

test("rows that would fill the disk are refused while there is still room", async () => {
  let free = KEPT_FREE_BYTES + 10;
  let passed = 0;
  async function* endless() {
    for (;;) yield Buffer.alloc(1024 * 1024);
  }
  const reading = async () => {
    for await (const { length } of whileThereIsRoom(endless(), folder, async () => free)) {
      passed += length;
      if (passed > 100 * 1024 * 1024) free = KEPT_FREE_BYTES - 1;
    }
  };
  await expect(reading()).rejects.toThrow("too large for the disk");
  expect(passed).toBeLessThan(130 * 1024 * 1024);
});
