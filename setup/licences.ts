// The licences of what a package contains beside our own code: bundled npm packages, Node, and the C libraries in static programs.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Debian's word on the two C libraries that are linked into our static programs. */
const C_LIBRARIES: readonly (readonly [name: string, file: string])[] = [
  ["musl (in native/agent)", "/usr/share/doc/musl-dev/copyright"],
  [
    "GNU C Library (in native/console-log, netns-exec and spawn-helper; their sources are in packages/host/native of the repository)",
    "/usr/share/doc/libc6-dev/copyright",
  ],
];

/** One text. `inputs`: the files that were bundled. Throws where a bundled package comes without a licence. */
export function licenceTexts(root: string, inputs: readonly string[]): string {
  const ofLibraries = C_LIBRARIES.map(([name, file]) => section(name, readFileSync(file, "utf8")));
  return [licencesOfPackages(root, inputs), ...ofLibraries].join("\n");
}

/** Of the npm packages among these files. */
export function licencesOfPackages(root: string, inputs: readonly string[]): string {
  const packages = [...new Set(inputs.flatMap((file) => packageFolder(file) ?? []))].toSorted();
  return packages.map((folder) => licenceOfPackage(join(root, folder))).join("\n");
}

/** `node_modules/a` or `node_modules/@b/c`; undefined for our own files. */
function packageFolder(file: string): string | undefined {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0];
}

function licenceOfPackage(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    name: string;
    version: string;
    license?: string;
  };
  const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  if (file === undefined && license === undefined) throw new Error(`${name} comes without a licence`);
  const text = file === undefined ? "" : readFileSync(join(folder, file), "utf8");
  return section(`${name} ${version} (${license ?? "see below"})`, text);
}

/** The licence that Node's distribution has beside its binary's folder. */
export function nodeLicence(nodeProgram: string): string {
  const file = join(dirname(nodeProgram), "../LICENSE");
  if (!existsSync(file)) throw new Error(`${file} is missing: the package needs Node as it is distributed`);
  return file;
}

function section(title: string, text: string): string {
  return `${"=".repeat(80)}\n${title}\n\n${text.trim()}\n`;
}
