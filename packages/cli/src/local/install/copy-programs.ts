// Copies what runs out of a checkout or a package, so that either can be deleted. A version is a folder of its own that is complete from the moment
// it is there, and never changes: what runs from an earlier one goes on.

import { cp, mkdir, readdir, rename, rm, symlink, readlink, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileExists } from "../system/files.ts";
import type { Layout } from "../system/layout.ts";
import { buildDigest } from "../servers/supervisor-state.ts";
import { under, type Installation } from "./installation.ts";

const DIGEST_CHARS = 8;
const CURRENT = "current";
/** Beside the current one. */
const KEPT_VERSIONS = 2;

/** Relative to the checkout or package; what one of the two lacks is left out. */
const CONTENTS = [
  ...["bin/skerry", "dist/skerry.js", "dist/control.js", "dist/host.js", "dist/chunks", "dist/native"],
  "dist/clients",
  "dist/dashboard",
  ...["dist/skerry.js.map", "dist/control.js.map", "dist/host.js.map", "setup/packages.sh", "templates"],
  ...["README.md", "ARCHITECTURE.md", "docs", "openapi.json", "LICENSE", "THIRD-PARTY-LICENCES.txt"],
] as const;

/** Two checkouts of one release number are two versions. */
export async function versionOf(layout: Layout, release: string): Promise<string> {
  const digest = await buildDigest({ ...layout, templates: join(layout.dist, "../templates") });
  return `${release}-${digest.slice(0, DIGEST_CHARS)}`;
}

/** Does nothing where the version is there. */
export async function copyPrograms(
  installation: Installation,
  layout: Layout,
  version: string,
): Promise<void> {
  const target = under(installation, join(installation.lib, version));
  if (await fileExists(target)) return;
  const source = dirname(layout.dist);
  const part = join(dirname(target), `.${version}.part`);
  await rm(part, { recursive: true, force: true });
  for (const name of CONTENTS) {
    if (await fileExists(join(source, name)))
      await cp(join(source, name), join(part, name), { recursive: true, dereference: true });
  }
  // The Node that runs this.
  const licence = join(dirname(process.execPath), "../LICENSE");
  await cp(process.execPath, join(part, "node/bin/node"), { dereference: true });
  if (await fileExists(licence)) await cp(licence, join(part, "node/LICENSE"));
  await rename(part, target);
}

/** Newest first, by when they were installed. */
export async function installedVersions(installation: Installation): Promise<string[]> {
  const lib = under(installation, installation.lib);
  const names = await readdir(lib, { withFileTypes: true });
  const folders = names.filter((entry) => entry.isDirectory() && !entry.name.startsWith("."));
  const dated = await Promise.all(
    folders.map(async ({ name }) => ({ name, at: (await stat(join(lib, name))).ctimeMs })),
  );
  return dated.toSorted((a, b) => b.at - a.at).map(({ name }) => name);
}

export async function currentVersion(installation: Installation): Promise<string | undefined> {
  const link = under(installation, join(installation.lib, CURRENT));
  return readlink(link).then(basename, () => undefined);
}

/** What starts from now on is of this version. */
export async function makeCurrent(installation: Installation, version: string): Promise<void> {
  const link = under(installation, join(installation.lib, CURRENT));
  await replaceLink(version, link);
  const command = under(installation, installation.command);
  await mkdir(dirname(command), { recursive: true });
  await replaceLink(join(installation.lib, CURRENT, "bin/skerry"), command);
}

async function replaceLink(target: string, link: string): Promise<void> {
  const part = `${link}.part`;
  await rm(part, { force: true });
  await symlink(target, part);
  await rename(part, link);
}

export async function removeOldVersions(
  installation: Installation,
  keep: readonly (string | undefined)[],
): Promise<void> {
  const old = (await installedVersions(installation)).filter((name) => !keep.includes(name));
  for (const name of old.slice(KEPT_VERSIONS))
    await rm(under(installation, join(installation.lib, name)), { recursive: true, force: true });
}
