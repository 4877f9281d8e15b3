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
import { freePort, newInstallation, openPlatform, skerry, until } from "./support/platform.ts";
import { run } from "./support/run.ts";

/** Longer than QEMU was ever given for a greeting (10 s) and for coming up (20 s). */
const SLOW_MS = 25_000;

let host: LoneHost;
beforeAll(async () => {
  host = await LoneHost.open(inject("assets"));
});
afterAll(() => host.close());

async function start(id: string, machine?: VmSpec["machine"], execution = "exe_1"): Promise<void> {
  const spec: VmSpec = {
    ...{ execution_id: execution, template: "base", size: "shared-cpu-1x", hostname: "vm", env: {} },
    egress: { mode: "deny_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: false },
    egress_version: 1,
    ...(machine === undefined ? {} : { machine }),
  };
  expect(await host.call("PUT", `/vms/${id}`, spec)).toMatchObject({ status: 200 });
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

test("a guest that stops its agent and answers in its stead holds up no other VM of a restarted host, and goes when it is destroyed", async () => {
  await Promise.all([start("sbx_hostile"), start("sbx_fine")]);
  const impostor = await readFile(join(import.meta.dirname, "support/impostor.py"), "utf8");
  await host.execute(
    "sbx_hostile",
    "exe_1",
    `cat >/tmp/impostor.py <<'END'\n${impostor}\nEND\nsetsid sh -c 'sleep 1; exec python3 /tmp/impostor.py' >/tmp/log 2>&1 &`,
  );
  // By then the host has asked whether anything lives in it, and has stopped it, which its successor has to undo. Should it be slower, the
  // impostor is met running.
  await sleep(8_000);
  await restart();
  const hostile = echo("sbx_hostile");
  hostile.catch(() => undefined);
  expect(await echo("sbx_fine")).toBe("here\n");
  await start("sbx_new");
  expect(await echo("sbx_new")).toBe("here\n");
  expect(await isPending(hostile)).toBe(true);
  await destroy("sbx_hostile");
  await expect(hostile).rejects.toThrow("failed");
  await destroy("sbx_fine", "sbx_new");
  for (const id of ["sbx_hostile", "sbx_fine", "sbx_new"]) expect(await host.files(id)).toEqual([]);
});

test("a QEMU that stands still while its host restarts is neither waited for nor thrown away", async () => {
  await Promise.all([start("sbx_still"), start("sbx_fine")]);
  const pid = await host.qemuPid("sbx_still");
  await host.execute("sbx_still", "exe_1", "echo kept >/tmp/kept");
  process.kill(pid, "SIGSTOP");
  try {
    await restart();
    const still = host.execute("sbx_still", "exe_1", "cat /tmp/kept");
    still.catch(() => undefined);
    expect(await echo("sbx_fine")).toBe("here\n");
    await sleep(SLOW_MS);
    expect((await host.call<VmList>("GET", "/vms")).body.items.map(({ status }) => status)).toEqual([
      "running",
      "running",
    ]);
    expect(await isPending(still)).toBe(true);
    process.kill(pid, "SIGCONT");
    expect(await still).toBe("kept\n");
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await destroy("sbx_still", "sbx_fine");
});

test("a machine whose record is damaged keeps its disk, says so, and boots from it once its record is written anew", async () => {
  const id = "mch_damaged";
  await start(id, { command: null, disk: "new" });
  await host.execute(id, "exe_1", "echo precious >/root/data; sync");
  await host.call("POST", `/vms/${id}/stop`, { execution_id: "exe_1", grace_ms: 0 });
  await host.end("SIGKILL");
  await writeFile(join(host.folder, "host/vms", id, "vm.json"), "");
  await host.start();
  expect((await host.call<Vm>("GET", `/vms/${id}`)).body).toMatchObject({
    status: "gone",
    cause: "disk_unreadable",
  });
  expect(await host.files(id)).toContain("disk.qcow2");
  const again = { command: null, disk: "kept" } as const;
  await expect(start(id, again, "exe_2")).rejects.toThrow();
  expect((await host.call<Vm>("POST", `/vms/${id}/recover`)).status).toBe(200);
  await start(id, again, "exe_2");
  expect(await host.execute(id, "exe_2", "cat /root/data")).toBe("precious\n");
  await host.call("DELETE", `/vms/${id}?execution_id=exe_2`);
  expect(await host.files(id)).toEqual([]);
});

test("a machine whose record is damaged while it runs is ended, and its disk boots after that", async () => {
  const id = "mch_running";
  await start(id, { command: null, disk: "new" });
  await host.execute(id, "exe_1", "echo precious >/root/data; sync");
  const qemu = await host.qemuPid(id);
  await host.end("SIGKILL");
  await writeFile(join(host.folder, "host/vms", id, "vm.json"), "{");
  await host.start();
  await until("its QEMU is gone", async () =>
    (await qemuProcesses(host.instance)).every(({ pid }) => pid !== qemu),
  );
  await host.call<Vm>("POST", `/vms/${id}/recover`);
  await start(id, { command: null, disk: "kept" }, "exe_2");
  expect(await host.execute(id, "exe_2", "cat /root/data")).toBe("precious\n");
  await host.call("DELETE", `/vms/${id}?execution_id=exe_2`);
});

test("a state folder that was moved comes up with its machines and their disks", async () => {
  const { state, env } = await newInstallation({ assets: inject("assets") });
  // As long as the one before it: what it holds may not depend on that.
  const moved = await mkdtemp("/tmp/skerry-test-");
  const movedEnv = { ...env, SKERRY_STATE: moved, XDG_CONFIG_HOME: join(moved, "config") };
  try {
    await skerry(env, "up");
    const { client } = await openPlatform(state, env);
    const { id } = await client.machines.create({ template: "base", name: "kept" });
    await client.machines.execute(id, "echo precious >/root/data; sync");
    await skerry(env, "down");
    await rm(moved, { recursive: true });
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
  } finally {
    for (const one of [movedEnv, env]) await skerry(one, "down").catch(() => undefined);
    for (const folder of [moved, state]) await rm(folder, { recursive: true, force: true });
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

test("a copy of a state folder that is started or taken down beside the original leaves the original alone", async () => {
  const { state, env } = await newInstallation({ assets: inject("assets") });
  const copies = { cold: await mkdtemp("/tmp/skerry-test-"), warm: await mkdtemp("/tmp/skerry-test-") };
  const copyTo = (to: string) => run("cp", "-a", `${state}/.`, to);
  const envOf = async (copy: string) => ({
    ...{ ...env, SKERRY_STATE: copy, XDG_CONFIG_HOME: join(copy, "config") },
    SKERRY_LISTEN: `127.0.0.1:${await freePort()}`,
  });
  const [coldEnv, warmEnv] = await Promise.all([envOf(copies.cold), envOf(copies.warm)]);
  try {
    await skerry(env, "up");
    await skerry(env, "down");
    await copyTo(copies.cold);
    await skerry(env, "up");
    const { client } = await openPlatform(state, env);
    // The database of the copy does not know them.
    const sandbox = await client.sandboxes.create({ template: "base" });
    const machine = await client.machines.create({ template: "base", command: "sleep infinity" });
    await copyTo(copies.warm);

    await skerry(coldEnv, "up");
    await skerry(coldEnv, "service", "run", "vm-cleanup");
    await skerry(coldEnv, "down");
    await expect(skerry(warmEnv, "up")).rejects.toThrow("was copied from a folder whose database ran");
    await skerry(warmEnv, "down");

    expect((await sandbox.execute("echo here")).stdout).toBe("here\n");
    expect((await client.machines.execute(machine.id, "echo there")).stdout).toBe("there\n");
  } finally {
    for (const one of [coldEnv, warmEnv, env]) await skerry(one, "down").catch(() => undefined);
    for (const folder of [copies.cold, copies.warm, state])
      await rm(folder, { recursive: true, force: true });
  }
});
