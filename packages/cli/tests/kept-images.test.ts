import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { installationAt } from "../src/local/install/installation.ts";
import { endKeptImages, keptImagesFolder } from "../src/local/install/kept-images.ts";

const ENTRY = `base-${"0".repeat(32)}`;

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "skerry-kept-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function keepIn(folder: string): Promise<void> {
  for (const name of [ENTRY, "new-Ab12cd"]) {
    await mkdir(join(root, folder, name), { recursive: true });
    await writeFile(join(root, folder, name, "content"), "x");
  }
}

test("the folder of kept images goes with all that is in it, and so does the one above", async () => {
  const installation = installationAt({ root, prefix: "/usr/local" });
  expect(await keptImagesFolder(installation)).toBeUndefined();
  await mkdir(join(root, "var/cache/other"), { recursive: true });
  await keepIn("var/cache/skerry/images");
  expect(await keptImagesFolder(installation)).toBe("/var/cache/skerry/images");
  expect(await endKeptImages(installation, "/var/cache/skerry/images", false)).toContain(
    "are in /var/cache/skerry/images,",
  );
  expect(await readdir(join(root, "var/cache/skerry/images"))).toContain(ENTRY);
  expect(await endKeptImages(installation, "/var/cache/skerry/images", true)).toBeUndefined();
  expect(await readdir(join(root, "var/cache"))).toEqual(["other"]);
});

test("of a folder that a setting names only kept images go, and `off` names none", async () => {
  const installation = installationAt({ root, prefix: "/usr/local" });
  await keepIn("srv/images");
  await keepIn("var/cache/skerry/images");
  await writeFile(join(root, "srv/images/letter"), "x");
  await mkdir(join(root, "etc/skerry"), { recursive: true });
  const settings = join(root, "etc/skerry/skerry.env");
  await writeFile(settings, 'SKERRY_IMAGE_CACHE="/srv/images"\n');
  expect(await keptImagesFolder(installation)).toBe("/srv/images");
  await endKeptImages(installation, "/srv/images", true);
  expect(await readdir(join(root, "srv/images"))).toEqual(["letter"]);
  expect(await keptImagesFolder(installation)).toBeUndefined();
  await writeFile(settings, 'SKERRY_IMAGE_CACHE="off"\n');
  expect(await keptImagesFolder(installation)).toBeUndefined();
});
