import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ArchiveReader, ArchiveWriter, type Content } from "../src/local/backup/archive.ts";
import { libpqEnvironment } from "../src/local/backup/database-tools.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-archive-"));
  path = join(folder, "one.backup");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function* pieces(...texts: readonly string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

async function writeArchive(): Promise<void> {
  await using archive = await ArchiveWriter.create(path);
  await archive.add("database.dump", pieces("first ", "x".repeat(5_000)));
  await archive.add("settings.env", pieces());
  await archive.finish({ format: 1 });
}

test("what was written is read, by us and by tar, and only its owner can", async () => {
  await writeArchive();
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await using archive = await ArchiveReader.open(path);
  const { contents } = JSON.parse(String(await archive.manifest())) as { contents: readonly Content[] };
  expect(contents.map(({ name, bytes }) => [name, bytes])).toEqual([
    ["database.dump", 5_006],
    ["settings.env", 0],
  ]);
  for (const content of contents) await archive.check(content);
  const read = execFileSync("tar", ["-xOf", path, "database.dump"]);
  expect(createHash("sha256").update(read).digest("hex")).toBe(contents[0]?.sha256);
});

test("every changed byte and every cut is found", async () => {
  await writeArchive();
  const whole = await readFile(path);
  const check = async (data: Uint8Array): Promise<void> => {
    await writeFile(path, data);
    await using archive = await ArchiveReader.open(path);
    const { contents } = JSON.parse(String(await archive.manifest())) as { contents: readonly Content[] };
    for (const content of contents) await archive.check(content);
  };
  await check(whole);
  const dumpEnds = 512 + 5_006;
  for (const at of [3, 100, 130, 512, 2_000, dumpEnds - 1, whole.indexOf('"format"'), whole.length - 1_500]) {
    const changed = Buffer.from(whole);
    changed.writeUInt8((changed.readUInt8(at) + 1) % 256, at);
    await expect(check(changed), `byte ${at}`).rejects.toThrow("cannot be restored");
  }
  for (const length of [0, 100, 512, 3_000, dumpEnds, 7_000])
    await expect(check(whole.subarray(0, length)), `${length} bytes`).rejects.toThrow("cannot be restored");
});

test("a writer that does not finish leaves the file of before", async () => {
  await writeFile(path, "before");
  const broken = async (): Promise<void> => {
    await using archive = await ArchiveWriter.create(path);
    await archive.add("database.dump", pieces("half"));
    throw new Error("broken");
  };
  await expect(broken()).rejects.toThrow("broken");
  expect(await readFile(path, "utf8")).toBe("before");
  expect(await readdir(folder)).toEqual(["one.backup"]);
});

test("a connection string becomes libpq's environment, so that no password is an argument", () => {
  expect(libpqEnvironment("postgresql://skerry:s%40fe@db.example:5433/main?sslmode=require")).toEqual({
    PGHOST: "db.example",
    PGPORT: "5433",
    PGUSER: "skerry",
    PGPASSWORD: "s@fe",
    PGDATABASE: "main",
    PGSSLMODE: "require",
  });
  expect(libpqEnvironment("postgresql:///skerry?host=%2Fvar%2Flib%2Frun&user=skerry")).toEqual({
    PGHOST: "/var/lib/run",
    PGUSER: "skerry",
    PGDATABASE: "skerry",
  });
  expect(() => libpqEnvironment("postgresql://a/b?channel_binding=require")).toThrow("channel_binding");
});
