// `skerry template build` from a folder to a sandbox that answers, through a whole platform.

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { apps, type App } from "../packages/build-plan/tests/support/apps.ts";
import { createSandbox, destroySandbox, outputOf } from "./support/api.ts";
import { sharedPlatform } from "./support/shared.ts";
import { isFullRun } from "./support/sampling.ts";

const MINUTE_MS = 60_000;
const run = promisify(execFile);
const platform = await sharedPlatform();
const program = join(import.meta.dirname, "../dist/skerry.js");

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-builds-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function skerry(...args: readonly string[]): Promise<Ended> {
  const env = {
    ...{ PATH: process.env["PATH"], HOME: folder, SKERRY_QUIET: "1" },
    ...{ SKERRY_API_URL: platform.apiUrl, SKERRY_API_TOKEN: platform.token },
  };
  return run(process.execPath, [program, ...args], { cwd: folder, env }).then(
    (done) => ({ ...done, code: 0 }),
    (error: Ended) => error,
  );
}

async function write(name: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name, path)), { recursive: true });
    await writeFile(join(folder, name, path), text);
  }
}

/** Again, where an image of the platform's own is still being built. */
async function build(...args: readonly string[]): Promise<Ended> {
  const endMs = Date.now() + 20 * MINUTE_MS;
  for (;;) {
    const ended = await skerry("template", "build", ...args);
    if (!ended.stderr.includes("template_not_ready") || Date.now() > endMs) return ended;
  }
}

const built = Object.entries<App>(apps).filter(
  ([, { files, answers }]) => answers !== undefined && (isFullRun || "index.html" in files),
);

test.each(built)(
  "a folder becomes a template, and a sandbox of it answers: %s",
  async (name, { files, answers = {} }) => {
    const called = `app-${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}`;
    await write(called, files);
    const { code, stdout, stderr } = await build(called, "--name", called, "--tag", "1");
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/^tpl_[0-9a-z]{26}\n$/);
    // The client reads a folder as the command line does, so that it is the same build.
    const again = { name: called, tag: "2" };
    const { template_id } = await platform.client.templates.buildFolder(join(folder, called), again);
    expect(`${template_id}\n`).toBe(stdout);
    const sandbox = await createSandbox(platform, { template: `${called}:1` });
    for (const [path, text] of Object.entries(answers))
      expect(await outputOf(platform, sandbox.id, `curl -s http://127.0.0.1:8080${path}`)).toContain(text);
    expect(await outputOf(platform, sandbox.id, "pwd; echo $PORT")).toBe("/app\n8080");
    await destroySandbox(platform, sandbox.id);
    expect(await skerry("template", "delete", `${called}:1`)).toMatchObject({ code: 0 });
  },
  30 * MINUTE_MS,
);

test(
  "a step that fails ends the build with its code and its last lines",
  async () => {
    await write("refused", { Dockerfile: "FROM scratch\nCOPY missing /\n" });
    const { code, stdout, stderr } = await build("refused", "--name", "refused");
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("(build_step_failed)");
    expect(stderr).toContain("missing");
    expect((await skerry("template", "show", "refused")).stderr).toContain("template_not_found");
  },
  20 * MINUTE_MS,
);
