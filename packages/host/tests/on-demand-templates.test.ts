import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import { TemplateLibrary, type LibraryOptions } from "../src/templates/library.ts";
import { buildNative } from "./support/native.ts";

test("the image of a template on demand is built when a VM of it is asked for, and not before", async () => {
  await using native = await buildNative();
  const folder = await mkdtemp("/tmp/skerry-unit-templates-");
  try {
    const description = {
      description: "one",
      suite: "bookworm",
      packages: ["bash"],
      disk_gib: 1,
      warm_up: [],
    };
    await mkdir(join(folder, "templates/later"), { recursive: true });
    await writeFile(
      join(folder, "templates/later/template.json"),
      JSON.stringify({ ...description, on_demand: true }),
    );
    const options: Partial<LibraryOptions> = {
      templatesFolder: join(folder, "templates"),
      assetsFolder: join(folder, "assets"),
      // Where nothing listens, so that a build that was begun ends soon.
      debianMirror: "http://127.0.0.1:1/debian",
      contain: native.contain,
      log: pino({ level: "silent" }),
    };
    // The rest is for VMs.
    const library = await TemplateLibrary.open(options as LibraryOptions);
    await library.buildImages();
    expect(library.builtAhead()).toEqual([]);
    expect(library.list()).toMatchObject([{ name: "later", status: "on_demand" }]);
    expect(await readdir(folder)).toEqual(["templates"]);
    expect(() => library.imageOf("later")).toThrow('The template "later" is being built on this host.');
    await expect.poll(() => library.list()[0]?.status).toBe("failed");
    const reason = expect.stringMatching(/^mmdebstrap/) as string;
    expect(library.imageFailures()).toEqual([{ name: "later", reason }]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
