// The Python client as a wheel: a zip file with the package and three files that say what it is (PEP 427). The same sources make the same bytes.

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zipSync, type ZipOptions, type ZippableFile } from "fflate";
import { packedReadme } from "./packed-readme.ts";

const root = join(import.meta.dirname, "../..");
const source = join(root, "packages/python");

/** The oldest time that a zip file can hold, told as the library reads it: in this machine's time zone. */
const ALWAYS = new Date(1980, 0, 1);
const UNIX = 3;
const REGULAR_FILE = 0o100644;
const OPTIONS: ZipOptions = { level: 9, mtime: ALWAYS, os: UNIX, attrs: REGULAR_FILE * 2 ** 16 };

/** Writes `skerry-VERSION-py3-none-any.whl` into the folder, and returns its path. */
export function buildPythonWheel(folder: string): string {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const info = `skerry-${version}.dist-info`;
  const files = new Map([
    ...sourcesOf("skerry"),
    [`${info}/METADATA`, Buffer.from(metadata(version))],
    [
      `${info}/WHEEL`,
      Buffer.from("Wheel-Version: 1.0\nGenerator: skerry\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
    ],
    [`${info}/licenses/LICENSE`, readFileSync(join(root, "LICENSE"))],
  ]);
  const lines = [...files].map(([name, bytes]) => `${name},sha256=${digest(bytes)},${bytes.length}\n`);
  // It cannot hold its own digest.
  files.set(`${info}/RECORD`, Buffer.from(`${lines.join("")}${info}/RECORD,,\n`));
  const wheel = join(folder, `skerry-${version}-py3-none-any.whl`);
  mkdirSync(folder, { recursive: true });
  const beside = `${wheel}.${process.pid}`;
  const entries = [...files].map(([name, bytes]): [string, ZippableFile] => [name, [bytes, OPTIONS]]);
  writeFileSync(beside, zipSync(Object.fromEntries(entries)));
  // Whole or not at all: a server may be handing the one before out.
  renameSync(beside, wheel);
  return wheel;
}

/** Every file below a folder of the sources, by its path, in the order of the paths. */
function sourcesOf(folder: string): [string, Buffer][] {
  const inside = join(source, "src", folder);
  return readdirSync(inside, { recursive: true, encoding: "utf8" })
    .filter((name) => /(\.py|\/?py\.typed)$/.test(name))
    .toSorted()
    .map((name) => [`${folder}/${name}`, readFileSync(join(inside, name))]);
}

function metadata(version: string): string {
  return `Metadata-Version: 2.1
Name: skerry
Version: ${version}
Summary: The Python client of Skerry: sandboxes in microVMs.
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: httpx (>=0.23,<1)
Description-Content-Type: text/markdown

${packedReadme(join(source, "README.md"))}`;
}

function digest(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("base64url");
}
