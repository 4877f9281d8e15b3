// A second template is one more file. This one is as small as a template can be.

import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { serverPid, startPlatform, until, waitingClones, type Platform } from "./support/platform.ts";

let templates: string;
let platform: Platform;

beforeAll(async () => {
  templates = await mkdtemp("/tmp/skerry-test-templates-");
  await cp(join(import.meta.dirname, "../templates"), templates, { recursive: true });
  await mkdir(join(templates, "tiny"));
  await describeTiny({ warm_up: [] });
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

test("what waits of a template that has changed is handed to nobody", async () => {
  // Those that were asked for above are waited for.
  const old = (): Promise<string[]> => waitingClonesOf("tiny");
  await until("a clone waits", async () => (await old()).length > 0);
  const waited = await old();
  await describeTiny({ warm_up: ["echo changed > /root/changed"] });
  process.kill(await serverPid(platform, "host"), "SIGKILL");
  let changed = "";
  await until(
    "a sandbox is a clone of the new template",
    async () => {
      // Until the host is back and has the template there is none.
      const sandbox = await platform.client.sandboxes.create({ template: "tiny" }).catch(() => undefined);
      changed = (await sandbox?.execute("read -r word < /root/changed; echo $word"))?.stdout ?? "";
      await sandbox?.destroy();
      return sandbox !== undefined;
    },
    240_000,
  );
  expect(changed).toBe("changed\n");
  expect((await waitingClonesOf("tiny")).filter((name) => waited.includes(name))).toEqual([]);
});

test("the sizes of a template are frozen at their first use", async () => {
  await using sandbox = await platform.client.sandboxes.create({ template: "base", size: "shared-cpu-2x" });
  const run = await sandbox.execute("nproc; sed -n 's/MemTotal: *//p' /proc/meminfo");
  const [cpus, memory = ""] = run.stdout.split("\n");
  expect(cpus).toBe("2");
  expect(Number.parseInt(memory, 10)).toBeGreaterThan(450_000);
});

async function describeTiny(more: { readonly warm_up: readonly string[] }): Promise<void> {
  const description = {
    ...{ description: "As little as possible", suite: "bookworm", packages: ["dash"], disk_gib: 1 },
    ...more,
  };
  await writeFile(join(templates, "tiny/template.json"), JSON.stringify(description));
}

async function waitingClonesOf(template: string): Promise<string[]> {
  const names = await waitingClones(platform);
  const templateOf = async (name: string): Promise<string | undefined> => {
    const record = await readFile(join(platform.state, "host/vms", name, "vm.json"), "utf8").catch(
      () => "{}",
    );
    return (JSON.parse(record) as { template?: string }).template;
  };
  const found = await Promise.all(names.map(async (name) => ({ name, template: await templateOf(name) })));
  return found.filter((one) => one.template === template).map(({ name }) => name);
}
