import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { runProgram } from "../src/system/run.ts";
import type { TemplateDescription } from "../src/templates/description.ts";
import { ensureImage } from "../src/templates/image.ts";
import { noImageCache } from "./support/image-caches.ts";
import { buildNative, type Native } from "./support/native.ts";

const path = process.env["PATH"] ?? "";

let native: Native;
let folder: string;
beforeAll(async () => {
  native = await buildNative();
});
afterAll(() => native[Symbol.asyncDispose]());
beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-image-");
});
afterEach(async () => {
  process.env["PATH"] = path;
  await rm(folder, { recursive: true, force: true });
});

/**
 * Unpacks a small tree, and calls the hooks as mmdebstrap does: with the tree, those of a kind in their
 * order.
 */
const MMDEBSTRAP = `#!/bin/bash
set -e
tree="\${*: -1}"
mkdir -p "$tree"/etc/dpkg/dpkg.cfg.d "$tree"/usr/share/{man/man1,man/de/man1,doc/tool,locale/de,info}
for file in man/man1/tool.1 man/de/man1/tool.1 doc/tool/copyright locale/de/tool.mo info/tool.info tool.txt; do
  echo text > "$tree/usr/share/$file"
done
hooks() { local kind=$1 word; shift; for word; do [[ $word != --$kind=* ]] || sh -c "\${word#--$kind=}" hook "$tree"; done; }
hooks extract-hook "$@"
cat "$tree"/etc/dpkg/dpkg.cfg.d/* > FOLDER/settings
(cd "$tree" && find . -type f | LC_ALL=C sort) > FOLDER/unpacked
hooks customize-hook "$@"
`;

test("an image has no documentation, nor have packages that are installed in it, and its dpkg waits for the disk", async () => {
  await mkdir(join(folder, "bin"));
  await writeFile(join(folder, "bin/mmdebstrap"), MMDEBSTRAP.replaceAll("FOLDER", folder));
  await chmod(join(folder, "bin/mmdebstrap"), 0o755);
  process.env["PATH"] = `${join(folder, "bin")}${delimiter}${path}`;
  const description = {
    ...{ name: "base", suite: "bookworm", packages: ["bash"], disk_gib: 1, warm_up: [] },
    diskDigest: "0".repeat(64),
  } as unknown as TemplateDescription;
  const image = await ensureImage(join(folder, "images"), description, {
    ...{ mirror: undefined, certificates: undefined, contain: native.contain, cache: noImageCache },
  });
  const leftOut = [
    ...["path-exclude=/usr/share/man/*/*", "path-exclude=/usr/share/doc/*"],
    ...["path-exclude=/usr/share/locale/*", "path-exclude=/usr/share/info/*"],
  ];
  const settings = (await readFile(join(folder, "settings"), "utf8")).trim().split("\n");
  expect(settings.toSorted()).toEqual([...leftOut, "force-unsafe-io"].toSorted());
  expect((await readFile(join(folder, "unpacked"), "utf8")).trim().split("\n")).toEqual([
    "./etc/dpkg/dpkg.cfg.d/99skerry",
    "./etc/dpkg/dpkg.cfg.d/99skerry-building",
    "./usr/share/tool.txt",
  ]);
  const inImage = (command: string) => runProgram("debugfs", ["-R", command, image], { deadlineMs: 10_000 });
  expect(await inImage("ls -p /etc/dpkg/dpkg.cfg.d")).toMatch(/\/99skerry\//);
  expect(await inImage("ls -p /etc/dpkg/dpkg.cfg.d")).not.toContain("building");
  expect((await inImage("cat /etc/dpkg/dpkg.cfg.d/99skerry")).trim().split("\n")).toEqual(leftOut);
});
