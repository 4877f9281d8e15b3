// A host that is killed and started again, with VMs that would hold it up if they could: it serves at once, each VM is adopted on its own, and
// none is given up for being slow. And a host whose records are damaged: it loses no disk.

import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { SkerryApiError } from "../packages/sdk/src/skerry.ts";
import type { Vm, VmList, VmSpec } from "@skerry/contract/host-api/vm";
import { qemuProcesses } from "./support/leftovers.ts";
import { LoneHost } from "./support/lone-host.ts";
import { freePort, newInstallation, nothingWaits, openPlatform, skerry, until } from "./support/platform.ts";
import { copyDatabase } from "./support/prepared-database.ts";
import { run } from "./support/run.ts";

/** Longer than QEMU was ever given for a greeting (10 s) and for coming up (20 s). */
const SLOW_MS = 25_000;

let host: LoneHost;
beforeAll(async () => {
  host = await LoneHost.open(inject("assets"), nothingWaits);
});
afterAll(() => host.close());

async function start(id: string, machine?: VmSpec["machine"], execution = "exe_1"): Promise<void> {
  const spec: VmSpec = {
    ...{ execution_id: execution, template: "base", size: "shared-cpu-1x", hostname: "vm", env: {} },
    egress: { mode: "deny_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: false },
    egress_version: 1,
    ...(machine === undefined ? {} : { machine }),
  };
  const answer = await host.call("PUT", `/vms/${id}`, spec);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
}

async function destroy(...ids: readonly string[]): Promise<void> {
  for (const id of ids) expect((await host.call("DELETE", `/vms/${id}?execution_id=exe_1`)).status).toBe(204);
}

async function restart(): Promise<void> {
  await host.end("SIGKILL");
  await host.start();
}

const echo = (id: string): Promise<string> => host.execute(id, "exe_1", "echo here");

/** Whether a promise has not come to an end. */
async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol("pending");
  const first = await Promise.race([promise.catch(() => undefined), sleep(0, pending)]);
  return first === pending;
}

test("neither a guest that answers in its agent's stead nor a QEMU that stands still holds up another VM of a restarted host, and no VM is given up", async () => {
  await Promise.all(["sbx_hostile", "sbx_still", "sbx_fine"].map((id) => start(id)));
  await host.execute("sbx_still", "exe_1", "echo kept >/tmp/kept");
  const impostor = await readFile(join(import.meta.dirname, "support/impostor.py"), "utf8");
  await host.execute(
    "sbx_hostile",
    "exe_1",
    `cat >/tmp/impostor.py <<'END'\n${impostor}\nEND\nsetsid sh -c 'sleep 1; exec python3 /tmp/impostor.py' >/tmp/log 2>&1 &`,
  );
  // By then the host has asked whether anything lives in it, and has stopped it, which its successor has to undo. Should it be slower, the
  // impostor is met running.
  await sleep(8_000);
  const pid = await host.qemuPid("sbx_still");
  process.kill(pid, "SIGSTOP");
  try {
    await restart();
    const hostile = echo("sbx_hostile");
    hostile.catch(() => undefined);
    const still = host.execute("sbx_still", "exe_1", "cat /tmp/kept");
    still.catch(() => undefined);
    expect(await echo("sbx_fine")).toBe("here\n");
    await start("sbx_new");
    expect(await echo("sbx_new")).toBe("here\n");
    expect(await isPending(hostile)).toBe(true);
    await destroy("sbx_hostile");
    await expect(hostile).rejects.toThrow("failed");
    await sleep(SLOW_MS);
    expect((await host.call<VmList>("GET", "/vms")).body.items.map(({ status }) => status)).toEqual([
      ...["running", "running", "running"],
    ]);
    expect(await isPending(still)).toBe(true);
    process.kill(pid, "SIGCONT");
    expect(await still).toBe("kept\n");
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await destroy("sbx_still", "sbx_fine", "sbx_new");
  for (const id of ["sbx_hostile", "sbx_still", "sbx_fine", "sbx_new"])
    expect(await host.files(id)).toEqual([]);
});

test("a machine whose record is damaged keeps its disk, says so, and boots from it once its record is written anew; one that runs is ended first", async () => {
  const [resting, running] = ["mch_damaged", "mch_running"];
  await Promise.all([resting, running].map((id) => start(id, { command: null, disk: "new" })));
  for (const id of [resting, running]) await host.execute(id, "exe_1", "echo precious >/root/data; sync");
  await host.call("POST", `/vms/${resting}/stop`, { execution_id: "exe_1", grace_ms: 0 });
  const qemu = await host.qemuPid(running);
  await host.end("SIGKILL");
  await writeFile(join(host.folder, "host/vms", resting, "vm.json"), "");
  await writeFile(join(host.folder, "host/vms", running, "vm.json"), "{");
  await host.start();
  expect((await host.call<Vm>("GET", `/vms/${resting}`)).body).toMatchObject({
    status: "gone",
    cause: "disk_unreadable",
  });
  expect(await host.files(resting)).toContain("disk.qcow2");
  const again = { command: null, disk: "kept" } as const;
  await expect(start(resting, again, "exe_2")).rejects.toThrow();
  await until("its QEMU is gone", async () =>
    (await qemuProcesses(host.instance)).every(({ pid }) => pid !== qemu),
  );
  for (const id of [resting, running])
    expect((await host.call<Vm>("POST", `/vms/${id}/recover`)).status).toBe(200);
  await Promise.all([resting, running].map((id) => start(id, again, "exe_2")));
  for (const id of [resting, running]) {
    expect(await host.execute(id, "exe_2", "cat /root/data")).toBe("precious\n");
    await host.call("DELETE", `/vms/${id}?execution_id=exe_2`);
    expect(await host.files(id)).toEqual([]);
  }
});

test("a state folder that was moved comes up with its machines and their disks, and a copy of it that is started or taken down leaves the original alone", async () => {
  const { state, env } = await newInstallation({ assets: inject("assets"), env: nothingWaits });
  await copyDatabase(state);
  const folder = () => mkdtemp("/tmp/skerry-test-");
  // As long as the one before it: what it holds may not depend on that.
  const [moved, cold, warm] = await Promise.all([folder(), folder(), folder()]);
  const envOf = async (there: string) => ({
    ...{ ...env, SKERRY_STATE: there, XDG_CONFIG_HOME: join(there, "config") },
    SKERRY_LISTEN: `127.0.0.1:${await freePort()}`,
  });
  const [coldEnv, warmEnv] = await Promise.all([envOf(cold), envOf(warm)]);
  const movedEnv = { ...env, SKERRY_STATE: moved, XDG_CONFIG_HOME: join(moved, "config") };
  try {
    await skerry(env, "up");
    const { client } = await openPlatform(state, env);
    const { id } = await client.machines.create({ template: "base", name: "kept" });
    await client.machines.execute(id, "echo precious >/root/data; sync");
    await skerry(env, "down");
    await rm(moved, { recursive: true });
    await run("cp", "-a", `${state}/.`, cold);
    await rename(state, moved);
    await skerry(movedEnv, "up");
    const there = (await openPlatform(moved, movedEnv)).client;
    // Until control has looked at the host, the row says what was true before the host went down.
    const read = (): Promise<string> =>
      there.machines.execute(id, "cat /root/data").then(
        ({ stdout }) => stdout,
        (error: unknown) => (error instanceof SkerryApiError ? error.code : Promise.reject(error as Error)),
      );
    await until(
      "the machine runs again with its data",
      async () => (await there.machines.start(id)).status === "running" && (await read()) === "precious\n",
    );
    expect(await skerry(movedEnv, "doctor").catch(String)).toMatch(/disks of machines +ok/);

    // The database of the cold copy does not know it.
    const sandbox = await there.sandboxes.create({ template: "base" });
    await run("cp", "-a", `${moved}/.`, warm);
    await skerry(coldEnv, "up");
    await skerry(coldEnv, "service", "run", "vm-cleanup", "--wait");
    await skerry(coldEnv, "down");
    await expect(skerry(warmEnv, "up")).rejects.toThrow("was copied from a folder whose database ran");
    await skerry(warmEnv, "down");
    expect((await sandbox.execute("echo here")).stdout).toBe("here\n");
    expect(await read()).toBe("precious\n");
  } finally {
    for (const one of [coldEnv, warmEnv, movedEnv, env]) await skerry(one, "down").catch(() => undefined);
    for (const one of [cold, warm, moved, state]) await rm(one, { recursive: true, force: true });
  }
});

test("a host starts on a full disk, because destroying VMs is what makes room there", async () => {
  const full = await LoneHost.open(inject("assets"));
  const state = join(full.folder, "host");
  await full.end("SIGTERM");
  await run("mount", "-t", "tmpfs", "-o", "size=1m,mode=0711", "tmpfs", state);
  try {
    await full.start();
    await expect(writeFile(join(state, "fill"), Buffer.alloc(2 * 1024 ** 2))).rejects.toThrow("ENOSPC");
    await full.end("SIGKILL");
    await full.start();
    expect((await full.call("GET", "/info")).status).toBe(200);
  } finally {
    await full.end("SIGKILL");
    await run("umount", state);
    await full.close();
  }
});
