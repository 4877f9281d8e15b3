// Templates of an organization from the request to a sandbox of them, with real microVMs, through the API.

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, inject, test } from "vitest";
import { eagerServices, inventory, startPlatform, until } from "./support/platform.ts";

const platform = await startPlatform({
  assets: inject("assets"),
  env: { ...eagerServices, SKERRY_WARM_MAX: "0" },
});
afterAll(() => platform.stop());

const TIMEOUT_MS = 600_000;
const alone = { size: "shared-cpu-1x", egress: { mode: "deny_all" } } as const;

/** A context with one file, as a tar archive. */
async function contextOf(name: string, text: string): Promise<Uint8Array<ArrayBuffer>> {
  const folder = await mkdtemp(join(tmpdir(), "skerry-test-context-"));
  try {
    await writeFile(join(folder, name), text);
    const { stdout } = await promisify(execFile)("tar", ["-C", folder, "-c", "."], { encoding: "buffer" });
    return new Uint8Array(stdout);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test(
  "a template is built of steps and a context, and sandboxes of it have its files, its environment and its folder",
  async () => {
    const lines: string[] = [];
    const steps = [
      { workdir: "/srv/app" },
      { copy: { from: ".", to: "/srv/app" } },
      { env: { MODE: "test" } },
      { run: "cat greeting.txt && echo built in $MODE > made" },
    ];
    const build = await platform.client.templates.build(
      { name: "web", tag: "1", steps, ...alone },
      {
        context: await contextOf("greeting.txt", "hello\n"),
        onLine: ({ text }) => void lines.push(text),
      },
    );
    expect(build, lines.join("\n")).toMatchObject({ status: "ready", error: null });
    expect(lines).toContain("hello");
    await using sandbox = await platform.client.sandboxes.create({ template: "web:1", timeout: "10m" });
    const said = await sandbox.execute("pwd; cat made; echo $MODE");
    expect(said).toMatchObject({ exit_code: 0, stdout: "/srv/app\nbuilt in test\ntest\n" });
    const failed = await platform.client.templates.build({
      ...{ name: "web", from: "web", steps: [{ run: "cat made; exit 3" }] },
      ...alone,
    });
    expect(failed.error).toMatchObject({ code: "build_step_failed", exit_code: 3 });
    expect(failed.error?.last_lines).toContain("built in test");
  },
  TIMEOUT_MS,
);

test(
  "a build that is canceled leaves nothing on its host",
  async () => {
    const { id } = await platform.client.templates.beginBuild({
      ...{ name: "slow", steps: [{ run: "sleep 600" }] },
      ...alone,
    });
    const status = async () => (await platform.client.builds.get(id)).status;
    await until("it is building", async () => (await status()) === "building", 300_000);
    expect(await platform.client.builds.cancel(id)).toMatchObject({ status: "canceled" });
    await until("its microVM is gone", async () => (await inventory(platform)).processes === 0);
    expect(await inventory(platform)).toMatchObject({ namespaces: 0, overlays: 0 });
  },
  TIMEOUT_MS,
);
