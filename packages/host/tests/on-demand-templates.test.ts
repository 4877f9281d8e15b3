import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SkerryError } from "@skerry/contract/errors";
import { pino } from "pino";
import { expect, test } from "vitest";
import { TemplateLibrary, type LibraryOptions } from "../src/templates/library.ts";
import { noImageCache } from "./support/image-caches.ts";
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
      cache: noImageCache,
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
    const reason = /^mmdebstrap ended with/;
    expect(library.imageFailures()).toMatchObject([{ name: "later", reason: expect.stringMatching(reason) }]);
    // A failed template says why and when it is tried again, and a request does not begin it anew.
    const [{ failure } = {}] = library.list();
    const { failed_at: failedAt, next_attempt: next, last_lines: last = [] } = failure ?? {};
    expect(failure?.reason).toMatch(reason);
    expect(last.length).toBeGreaterThan(0);
    expect(Date.parse(String(next)) - Date.parse(String(failedAt))).toBe(60_000);
    const refusal = caught(() => library.imageOf("later"));
    expect(refusal.message).toMatch(
      /^The template "later" failed .*: mmdebstrap.*; tried again at \d\d:\d\d:\d\d UTC\.$/,
    );
    expect(refusal.context).toMatchObject({ template: "later", failed_at: failedAt, next_attempt: next });
    expect(library.list()).toMatchObject([{ status: "failed" }]);
    // An operator who asks for it does, and the pause after another failure is twice as long.
    library.prepare("later");
    expect(library.list()).toMatchObject([{ status: "building", failure: { next_attempt: null } }]);
    await expect.poll(() => library.list()[0]?.status).toBe("failed");
    const again = library.list()[0]?.failure;
    expect(Date.parse(String(again?.next_attempt)) - Date.parse(String(again?.failed_at))).toBe(120_000);
    expect(() => library.prepare("other")).toThrow("This host has no template");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

function caught(work: () => unknown): SkerryError {
  try {
    work();
  } catch (error) {
    if (error instanceof SkerryError) return error;
  }
  throw new Error("it was not refused");
}
