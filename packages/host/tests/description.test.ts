import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { idPattern } from "@skerry/contract/ids";
import {
  BUILDER_DISK_GIB,
  BUILDER_TEMPLATE,
  builtInTags,
  reservedTemplateNames,
} from "@skerry/contract/templates/template-name";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readDescriptions, TemplateFault } from "../src/templates/description.ts";
import { ArchiveMismatch, checkArchive } from "../src/templates/node-archives.ts";

const base = {
  description: "Debian with Python",
  suite: "bookworm",
  packages: ["bash", "g++", "python3"],
  disk_gib: 4,
  warm_up: ["true"],
};

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-templates-");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function template(name: string, content: unknown): Promise<string> {
  const file = join(folder, name, "template.json");
  await mkdir(join(folder, name));
  await writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

test("templates are read by name, and stray files beside them are left alone", async () => {
  await template("web", base);
  await template("base", base);
  await writeFile(join(folder, "README.md"), "about templates");
  const found = await readDescriptions(folder);
  expect(found.map(({ name }) => name)).toEqual(["base", "web"]);
  expect(found[0]).toMatchObject(base);
});

test("the builder's disk is as large as the control plane counts it", async () => {
  const found = await readDescriptions(new URL("../../../templates", import.meta.url).pathname);
  expect(found.find(({ name }) => name === BUILDER_TEMPLATE)?.disk_gib).toBe(BUILDER_DISK_GIB);
});

/** The Python of Debian's releases, which a template has by its suite. */
const pythonOf: Readonly<Record<string, string>> = { bookworm: "3.11", trixie: "3.13" };

test("each tag of a built-in template means one that there is, and each name that there is is reserved", async () => {
  const found = await readDescriptions(new URL("../../../templates", import.meta.url).pathname);
  const names = found.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining([...builtInTags.values()]));
  expect(reservedTemplateNames).toEqual(expect.arrayContaining(names));
  for (const [tag, name] of builtInTags) {
    const { node, suite } = found.find((template) => template.name === name) ?? {};
    const version = tag.startsWith("node:") ? node?.version.split(".")[0] : pythonOf[String(suite)];
    expect(tag.split(":")[1], tag).toBe(version);
  }
});

test("a pin of Node.js is an exact version with its digest, and part of the disk", async () => {
  const integrity = `sha512-${"A".repeat(86)}==`;
  const node = { version: "24.1.0", integrity, npm_version: "11.0.0", npm_integrity: integrity };
  await template("base", { ...base, node });
  const [first] = await readDescriptions(folder);
  for (const wrong of [
    { version: "24" },
    { version: "^24.1.0" },
    { integrity: "" },
    { npm_integrity: "sha1-A" },
  ]) {
    await writeFile(
      join(folder, "base/template.json"),
      JSON.stringify({ ...base, node: { ...node, ...wrong } }),
    );
    await expect(readDescriptions(folder)).rejects.toThrow(TemplateFault);
  }
  await writeFile(
    join(folder, "base/template.json"),
    JSON.stringify({ ...base, node: { ...node, version: "24.1.1" } }),
  );
  const [changed] = await readDescriptions(folder);
  expect(changed?.diskDigest).not.toBe(first?.diskDigest);
});

test("an archive with another digest than the template pins is refused", async () => {
  const file = join(folder, "node.tgz");
  await writeFile(file, "content");
  const digest = createHash("sha512").update("content").digest("base64");
  await checkArchive(file, `sha512-${digest}`);
  await writeFile(file, "changed");
  await expect(checkArchive(file, `sha512-${digest}`)).rejects.toThrow(ArchiveMismatch);
});

test("the same description always has the same id, and another name or content another", async () => {
  await template("base", base);
  await template("same-content", base);
  const [first, second] = await readDescriptions(folder);
  const [again] = await readDescriptions(folder);
  expect(first?.id).toMatch(new RegExp(idPattern("template")));
  expect(again?.id).toBe(first?.id);
  expect(second?.id).not.toBe(first?.id);
  await writeFile(join(folder, "base/template.json"), JSON.stringify({ ...base, disk_gib: 5 }));
  const [changed] = await readDescriptions(folder);
  expect(changed?.id).not.toBe(first?.id);
});

test("what guests trust besides Debian's authorities is part of a template, and of its disk", async () => {
  await template("base", { ...base, env: { PYTHONUNBUFFERED: "1" } });
  const trusting = (digest: string) => readDescriptions(folder, { certificates: ["pem"], digest });
  const found = [
    await readDescriptions(folder),
    await trusting("one"),
    await trusting("other"),
    await trusting("one"),
  ].flat();
  expect(new Set(found.map(({ id }) => id)).size).toBe(3);
  expect(new Set(found.map(({ diskDigest }) => diskDigest)).size).toBe(3);
  // An environment changes no disk.
  await writeFile(join(folder, "base/template.json"), JSON.stringify(base));
  const [plain] = await readDescriptions(folder);
  expect(plain?.id).not.toBe(found[0]?.id);
  expect(plain?.diskDigest).toBe(found[0]?.diskDigest);
});

test("the files that a template's image gets are part of the template, and of its disk", async () => {
  await template("base", base);
  const file = join(folder, "base/root/opt/program.py");
  const withFile = async (content: string) => {
    await mkdir(join(file, ".."), { recursive: true });
    await writeFile(file, content);
    return readDescriptions(folder);
  };
  const found = [
    await readDescriptions(folder),
    await withFile("1"),
    await withFile("2"),
    await withFile("1"),
  ].flat();
  expect(found.map(({ files }) => files)).toEqual([undefined, ...Array(3).fill(join(folder, "base/root"))]);
  expect(new Set(found.map(({ id }) => id)).size).toBe(3);
  expect(new Set(found.map(({ diskDigest }) => diskDigest)).size).toBe(3);
  // What it runs changes no disk.
  const start = { command: "python3 /opt/program.py", timeout_ms: 60_000 };
  await writeFile(join(folder, "base/template.json"), JSON.stringify({ ...base, start }));
  const [starting] = await readDescriptions(folder);
  expect([starting?.start, starting?.diskDigest]).toEqual([start, found[1]?.diskDigest]);
  // What is run in its image does.
  await writeFile(join(folder, "base/template.json"), JSON.stringify({ ...base, set_up: ["make"] }));
  expect((await readDescriptions(folder))[0]?.diskDigest).not.toBe(found[1]?.diskDigest);
});

const without = (field: string): unknown =>
  Object.fromEntries(Object.entries(base).filter(([name]) => name !== field));

test.each([
  ["is not JSON", "{", "not JSON"],
  ["is a list", [], "object"],
  ["lacks a field", without("suite"), "suite"],
  ["has an unknown field", { ...base, pacakges: [] }, "pacakges"],
  ["names no Debian release", { ...base, suite: "http://evil/" }, "/suite"],
  ["has an option in place of a package", { ...base, packages: ["bash", "--aptopt=x"] }, "/packages/1"],
  ["has two packages in one", { ...base, packages: ["bash,curl"] }, "/packages/0"],
  ["has no disk", { ...base, disk_gib: 0 }, "/disk_gib"],
  ["has a disk of half a GiB", { ...base, disk_gib: 0.5 }, "/disk_gib"],
  ["has an environment with a broken name", { ...base, env: { "1A": "" } }, "/env"],
  ["has an environment that is no text", { ...base, env: { A: 1 } }, "/env/A"],
  ["has an environment with a control character", { ...base, env: { A: "a\nb" } }, "/env/A"],
  ["has an environment that is too long", { ...base, env: { A: "a".repeat(201) } }, "/env/A"],
  ["sets up nothing", { ...base, set_up: [] }, "/set_up"],
  ["has an empty warm-up command", { ...base, warm_up: [""] }, "/warm_up/0"],
])("a description that %s is refused with the file's name and the fault", async (_what, content, fault) => {
  const file = await template("base", content);
  const reading = readDescriptions(folder);
  await expect(reading).rejects.toThrow(TemplateFault);
  await expect(reading).rejects.toThrow(`${file}: `);
  await expect(reading).rejects.toThrow(fault);
});

test("a folder whose name is no template name is refused", async () => {
  for (const name of ["Base", "1base", "a_b", "x".repeat(64)]) {
    const file = await template(name, base);
    await expect(readDescriptions(folder)).rejects.toThrow(
      `${file}: the folder's name is not a template name`,
    );
    await rm(join(folder, name), { recursive: true });
  }
});

test("a folder without a description is refused with the name of the missing file", async () => {
  await mkdir(join(folder, "empty"));
  const reading = readDescriptions(folder);
  await expect(reading).rejects.toThrow(TemplateFault);
  await expect(reading).rejects.toThrow(join(folder, "empty/template.json"));
});
