// A second template is one more file. This one is as small as a template can be.

import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { startPlatform, until, type Platform } from "./support/platform.ts";

let templates: string;
let platform: Platform;

beforeAll(async () => {
  templates = await mkdtemp("/tmp/skerry-test-templates-");
  await cp(join(import.meta.dirname, "../templates"), templates, { recursive: true });
  await mkdir(join(templates, "tiny"));
  await writeFile(
    join(templates, "tiny/template.json"),
    JSON.stringify({
      description: "As little as possible",
      suite: "bookworm",
      packages: ["dash"],
      disk_gib: 1,
      warm_up: [],
    }),
  );
  platform = await startPlatform({ assets: inject("assets"), env: { SKERRY_TEMPLATES: templates } });
});

afterAll(async () => {
  await platform.stop();
  await rm(templates, { recursive: true });
});

test("a template that was added as one file can be used by its name and by its id", async () => {
  const { client } = platform;
  await until(
    "the template is ready",
    async () => (await client.templates.get("tiny")).status === "ready",
    240_000,
  );
  const { id } = await client.templates.get("tiny");
  expect(await client.templates.get(id)).toMatchObject({ name: "tiny", disk_gib: 1 });
  for (const template of ["tiny", id]) {
    await using sandbox = await client.sandboxes.create({ template });
    expect(sandbox.info.template).toBe("tiny");
    expect((await sandbox.execute("command -v python3 || echo none")).stdout).toBe("none\n");
  }
});

test("the sizes of a template are frozen at their first use", async () => {
  await using sandbox = await platform.client.sandboxes.create({ template: "base", size: "shared-cpu-2x" });
  const run = await sandbox.execute("nproc; sed -n 's/MemTotal: *//p' /proc/meminfo");
  const [cpus, memory = ""] = run.stdout.split("\n");
  expect(cpus).toBe("2");
  expect(Number.parseInt(memory, 10)).toBeGreaterThan(450_000);
});
