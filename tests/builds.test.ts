// Templates of an organization from the request to a sandbox of them, with real microVMs, through the API.

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, expect, inject, test } from "vitest";
import type { BuildStatus } from "@skerry/contract/builds/build-status";
import {
  eagerServices,
  inventory,
  nothingWaits,
  qemuPidOf,
  serverPid,
  startPlatform,
  until,
  untilReplaced,
} from "./support/platform.ts";
import { fullTest } from "./support/full-test.ts";

const platform = await startPlatform({
  assets: inject("assets"),
  env: { ...eagerServices, ...nothingWaits },
});
afterAll(() => platform.stop());

const TIMEOUT_MS = 600_000;
/** Every victim in every state is tried on fake hosts in control's `build-crashes.test.ts`; with real microVMs in full runs alone. */
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

/** Between two looks at a build, whose states may pass quickly. */
const LOOK_MS = 20;

/** Undefined while control does not answer. */
const statusOf = async (id: string): Promise<BuildStatus | undefined> =>
  platform.client.builds.get(id).then(
    ({ status }) => status,
    () => undefined,
  );

async function untilItIs(id: string, wanted: BuildStatus): Promise<void> {
  for (let status = await statusOf(id); status !== wanted; status = await statusOf(id)) {
    if (status === "ready" || status === "failed") throw new Error(`it was never seen ${wanted}`);
    await sleep(LOOK_MS);
  }
}

async function kill(victim: "control" | "host" | "microVM", build: string): Promise<void> {
  if (victim === "microVM") return void process.kill(await qemuPidOf(platform, build), "SIGKILL");
  const pid = await serverPid(platform, victim);
  process.kill(pid, "SIGKILL");
  await untilReplaced(platform, victim, pid);
}

const states = ["building", "sealing", "freezing"] as const;
const deaths = (["control", "host", "microVM"] as const).flatMap((victim) =>
  states.map((state) => ({ victim, state })),
);

fullTest.each(deaths)(
  "$victim is killed while a build is $state: it ends as it should and leaves nothing, and the next one works",
  async ({ victim, state }) => {
    const { client } = platform;
    const name = `${victim}-${state}`.toLowerCase();
    const { id } = await client.templates.beginBuild({
      ...{
        name,
        steps: [{ run: "head -c 200M /dev/urandom > /srv/large; echo first > /srv/said; sleep 2" }],
      },
      ...alone,
    });
    await untilItIs(id, state);
    await kill(victim, id);
    await until(
      "it has ended",
      async () => ["ready", "failed"].includes((await statusOf(id)) ?? ""),
      480_000,
    );
    const ended = await client.builds.get(id);
    // What is sealed needs the build's microVM no more.
    if (victim === "microVM" && state !== "freezing") {
      expect(ended).toMatchObject({ status: "failed", template_id: null });
      expect(["guest_failed", "vm_not_found", "vm_not_running"]).toContain(ended.error?.code);
    } else expect(ended).toMatchObject({ status: "ready", error: null });
    await until("nothing of it runs", async () => (await inventory(platform)).processes === 0);
    expect(await inventory(platform)).toMatchObject({ namespaces: 0, overlays: 0 });
    const next = await client.templates.build({
      ...{ name, tag: "next", steps: [{ run: "echo next > /srv/said" }] },
      ...alone,
    });
    expect(next).toMatchObject({ status: "ready", error: null });
    for (const [version, said] of [
      [ended.template_id, "first\n"],
      [next.template_id, "next\n"],
    ] as const) {
      if (version === null) continue;
      await using sandbox = await client.sandboxes.create({ template: version, timeout: "10m" });
      expect((await sandbox.execute("cat /srv/said")).stdout).toBe(said);
    }
  },
  2 * TIMEOUT_MS,
);
