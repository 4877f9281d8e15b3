// Prints two measures of the language of each package: in how many files an exported name contains the file's name, and how many of a
// comment's words hide who acts ("nobody", "whoever"). `npm run names -- --list` also prints each file and each comment that is counted
// against a package.

import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

const root = join(import.meta.dirname, "..");

const RIDDLE_WORDS = /\b(?:whoever|whomever|nobody|somebody|anybody|whatever|whichever)\b/gi;
const EXPORTED =
  /^export (?:default )?(?:declare |abstract |async )*(?:function\*?|class|const|let|type|interface|enum) (\w+)/gm;
const EXPORTED_LIST = /^export (?:type )?\{([^}]*)\}/gm;
/** Files that are named after a noun and the layer that they are: their exports need to name the noun only. */
const LAYER_SUFFIX = /-(?:store|routes|operations)$/;
/** A comment that fills its line, or that ends it. */
const COMMENT = /^\s*(?:\/\/|\/\*|\*)|\s\/\/ /;

export interface FileNaming {
  readonly file: string;
  readonly isNamedAfterExport: boolean;
}

/** Undefined for a file without exports, which cannot be named after one. */
export function namingOf(file: string, text: string): FileNaming | undefined {
  const names = exportedNames(text).map((name) => name.toLowerCase());
  if (names.length === 0) return undefined;
  const stem = basename(file, ".ts").replace(/^\d+-/, "");
  const wanted = [stem, stem.replace(LAYER_SUFFIX, "")].flatMap((name) => {
    const parts = name.toLowerCase().split("-");
    return [parts.join(""), parts.map(singular).join(""), singular(parts.join(""))];
  });
  return {
    file,
    isNamedAfterExport: names.some((name) => wanted.some((part) => name.includes(part))),
  };
}

function exportedNames(text: string): string[] {
  const listed = [...text.matchAll(EXPORTED_LIST)].flatMap(([, list = ""]) =>
    list.split(",").map((name) => name.trim().split(/\s+/).at(-1) ?? ""),
  );
  const declared = [...text.matchAll(EXPORTED)].map(([, name = ""]) => name);
  return [...declared, ...listed].filter((name) => name !== "");
}

/** Crude on purpose: `policies` to `policy`, `addresses` to `address`, `slots` to `slot`. */
function singular(name: string): string {
  if (name.endsWith("ies")) return `${name.slice(0, -3)}y`;
  if (/(?:ss|x|ch|sh)es$/.test(name)) return name.slice(0, -2);
  return name.endsWith("s") && !name.endsWith("ss") ? name.slice(0, -1) : name;
}

export interface CommentWords {
  readonly commentLines: number;
  /** The lines with such words, once for each word. */
  readonly riddles: readonly string[];
}

export function commentWordsOf(text: string): CommentWords {
  const comments = text.split("\n").filter((line) => COMMENT.test(line));
  const riddles = comments.flatMap((line) =>
    [...(/(?:\/\/|\/\*|\*).*$/.exec(line)?.[0] ?? "").matchAll(RIDDLE_WORDS)].map(() => line.trim()),
  );
  return { commentLines: comments.length, riddles };
}

function percent(part: number, whole: number): string {
  return whole === 0 ? "-" : `${Math.round((100 * part) / whole)} %`;
}

function print(name: string, files: readonly string[], isListing: boolean): void {
  const texts = files.map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }));
  const namings = texts
    .filter(({ file }) => file.endsWith(".ts"))
    .flatMap(({ file, text }) => namingOf(file, text) ?? []);
  const odd = namings.filter(({ isNamedAfterExport }) => !isNamedAfterExport);
  const words = texts.map(({ file, text }) => ({ file, ...commentWordsOf(text) }));
  const lines = words.reduce((total, { commentLines }) => total + commentLines, 0);
  const riddles = words.flatMap(({ file, riddles: found }) => found.map((line) => `${file}: ${line}`));
  const named = `${namings.length - odd.length} of ${namings.length}`;
  const perThousand = lines === 0 ? "-" : ((1_000 * riddles.length) / lines).toFixed(1);
  process.stdout.write(
    `${name.padEnd(10)} ${percent(namings.length - odd.length, namings.length).padStart(6)}  (${named})`.padEnd(
      38,
    ) + `${perThousand.padStart(6)} per 1,000  (${riddles.length} in ${lines})\n`,
  );
  if (!isListing) return;
  for (const { file } of odd) process.stdout.write(`    not named after an export: ${file}\n`);
  for (const line of riddles) process.stdout.write(`    ${line}\n`);
}

function main(): void {
  const isListing = process.argv.includes("--list");
  const packages = ["contract", "build-plan", "control", "host", "guest", "sdk", "cli"];
  const filesOf = (name: string): string[] =>
    globSync([`packages/${name}/src/**/*.{ts,c,h}`, `packages/${name}/native/*.c`], { cwd: root }).toSorted();
  process.stdout.write(
    "package    files named after what they export; words that hide the actor in comments\n",
  );
  for (const name of packages) print(name, filesOf(name), isListing);
  print("all", packages.flatMap(filesOf), false);
}

if (import.meta.main) main();
