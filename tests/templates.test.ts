// A second template is one more file. This one is as small as a template can be.

import type { VmSpec } from "@skerry/contract/host-api/vm";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { parseTiming, SERVER_TIMING, type Timing } from "@skerry/contract/server-timing";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { LoneHost } from "./support/lone-host.ts";
import {
  nothingWaits,
  serverPid,
  startPlatform,
  until,
  waitingClones,
  type Platform,
} from "./support/platform.ts";

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

test("a frozen template that no clone wakes from is made anew, and stays for the disks that stand on it", async () => {
  const assets = inject("assets");
  const host = await LoneHost.open(assets, { SKERRY_TEMPLATES: templates, ...nothingWaits });
  try {
    const first = await created(host, "sbx_first");
    expect(first.status).toBe(200);
    // Who waits for a template to be frozen is told so.
    expect(first.timing.freeze).toBeGreaterThan(100);
    const [frozen = ""] = await frozenTinies(assets);
    // As a state that another CPU or another QEMU has saved would be: not understood.
    await writeFile(join(assets, "frozen", frozen, "state"), "no state of a machine");
    expect((await created(host, "sbx_second")).status).toBe(500);
    expect((await created(host, "sbx_third")).status).toBe(200);
    expect(await host.execute("sbx_third", "exe_sbx_third", "echo awake")).toBe("awake\n");
    expect(await host.execute("sbx_first", "exe_sbx_first", "echo awake")).toBe("awake\n");
    expect(await frozenTinies(assets)).toEqual([frozen, `${frozen}-again`]);
    // A later host process knows it, too.
    await host.end("SIGKILL");
    await host.start();
    expect(await created(host, "sbx_fourth")).toEqual({ status: 200, timing: {} });
  } finally {
    await host.close();
    for (const name of await frozenTinies(assets))
      await rm(join(assets, "frozen", name), { recursive: true });
  }
});

const nothingAllowed: VmSpec["egress"] = {
  mode: "deny_all",
  allow_cidrs: [],
  deny_cidrs: [],
  allow_ports: [],
  dns: false,
};

/** Of a size that no other test uses. */
async function frozenTinies(assets: string): Promise<string[]> {
  const names = await readdir(join(assets, "frozen"));
  return names.filter((name) => name.startsWith("tiny-shared-cpu-2x-")).toSorted();
}

async function created(
  host: LoneHost,
  id: string,
): Promise<{ readonly status: number; readonly timing: Timing }> {
  const spec: VmSpec = {
    ...{ execution_id: `exe_${id}`, template: "tiny", size: "shared-cpu-2x", hostname: "tiny", env: {} },
    ...{ egress_version: 1, egress: nothingAllowed },
  };
  const answer = await host.open("PUT", `/vms/${id}`, spec);
  await buffer(answer);
  return { status: answer.statusCode ?? 0, timing: parseTiming(String(answer.headers[SERVER_TIMING])) };
}

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
