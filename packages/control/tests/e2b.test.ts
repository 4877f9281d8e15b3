// E2B's published clients against a platform with a fake host: what they ask for is what our services do.

import { randomUUID } from "node:crypto";
import * as oldest from "e2b-2.45";
import * as newest from "e2b-2.51";
import { sql } from "kysely";
import { afterEach, describe, expect, test } from "vitest";
import { e2bOptions, nativeId } from "./support/e2b.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
afterEach(async () => {
  // Room for those of the next test.
  await sql`delete from sandboxes`.execute(world.db);
  world.host.vms.clear();
});

const clients = [
  ["2.45.0", oldest],
  ["2.51.0", newest as unknown as typeof oldest],
] as const;

describe.each(clients)("the client %s", (_version, { Sandbox, SandboxNotFoundError, TimeoutError }) => {
  test("creates a sandbox, finds it by its labels, runs a command and kills it", async () => {
    const metadata = { job: randomUUID(), "odd key&": "a=b c" };
    const envs = { GREETING: "hello" };
    const options = e2bOptions(world);
    const sandbox = await Sandbox.create("base", { ...options, metadata, envs, timeoutMs: 60_000 });
    const info = await sandbox.getInfo();
    expect([info.sandboxId, info.templateId, info.state]).toEqual([sandbox.sandboxId, "base", "running"]);
    expect([info.metadata, info.cpuCount, info.memoryMB]).toEqual([metadata, 1, 256]);
    const page = Sandbox.list({ ...options, query: { metadata } });
    expect((await page.nextItems()).map(({ sandboxId }) => sandboxId)).toEqual([sandbox.sandboxId]);
    expect(page.hasNext).toBe(false);
    const { stdout, stderr, exitCode } = await sandbox.commands.run("print this");
    expect([stdout, stderr, exitCode]).toEqual(["print this", "warned", 0]);
    expect(await sandbox.isRunning()).toBe(true);
    expect(await sandbox.kill()).toBe(true);
    expect(await sandbox.kill()).toBe(false);
    expect(await sandbox.isRunning()).toBe(false);
    await expect(sandbox.getInfo()).rejects.toThrow(SandboxNotFoundError);
    await expect(sandbox.commands.run("true")).rejects.toThrow(SandboxNotFoundError);
  });

  test("lists page by page, and each sandbox once", async () => {
    const metadata = { job: randomUUID() };
    const options = { ...e2bOptions(world), metadata };
    const made = [
      await Sandbox.create(options),
      await Sandbox.create(options),
      await Sandbox.create(options),
    ];
    const pages = Sandbox.list({ ...options, query: { metadata, state: ["running"] }, limit: 2 });
    const found: string[] = [];
    while (pages.hasNext) found.push(...(await pages.nextItems()).map(({ sandboxId }) => sandboxId));
    expect(found).toEqual(made.map(({ sandboxId }) => sandboxId).toReversed());
  });

  test("sets the time of a sandbox to an earlier one too, and connects to it", async () => {
    const options = e2bOptions(world);
    const sandbox = await Sandbox.create({ ...options, timeoutMs: 3_600_000 });
    await sandbox.setTimeout(60_000);
    const { endAt } = await sandbox.getInfo();
    expect(endAt.getTime()).toBeLessThan(Date.now() + 120_000);
    const again = await Sandbox.connect(sandbox.sandboxId, { ...options, timeoutMs: 600_000 });
    expect((await again.getInfo()).endAt.getTime()).toBeGreaterThan(endAt.getTime());
    expect((await again.commands.run("from here")).stdout).toBe("from here");
  });

  test("talks to a command that runs on: its input, its output, its number, its end", async () => {
    const sandbox = await Sandbox.create(e2bOptions(world));
    const heard: string[] = [];
    const handle = await sandbox.commands.run("repeat", {
      ...{ background: true, stdin: true, cwd: "/tmp", envs: { A: "1" } },
      onStdout: (text) => void heard.push(text),
    });
    const listed = (await sandbox.commands.list()).find(({ pid }) => pid === handle.pid);
    expect([listed?.cmd, listed?.args, listed?.cwd]).toEqual(["/bin/bash", ["-l", "-c", "repeat"], "/tmp"]);
    await sandbox.commands.sendStdin(handle.pid, "once");
    const other = await sandbox.commands.connect(handle.pid);
    await sandbox.commands.sendStdin(handle.pid, "twice");
    await sandbox.commands.closeStdin(handle.pid);
    const { stdout } = await handle.wait();
    expect([stdout, heard.join("")]).toEqual(["oncetwice", "oncetwice"]);
    expect((await other.wait()).exitCode).toBe(0);
    expect(await sandbox.commands.kill(handle.pid)).toBe(false);
    const { command } = world.host.executions.last;
    expect([command.workdir, command.env["A"], command.user, command.reattach_ms]).toEqual([
      ...["/tmp", "1", "0", -1],
    ]);
    expect(command.program).toEqual(["/bin/bash", "-l", "-c", "repeat"]);
  });

  test("has an agent of an earlier version run a shell, which becomes the user", async () => {
    const { executions } = world.host;
    const sandbox = await Sandbox.create(e2bOptions(world));
    executions.runPrograms = false;
    try {
      const { stdout } = await sandbox.commands.run("print this", { cwd: "there" });
      expect(stdout).toBe("print this");
    } finally {
      executions.runPrograms = true;
    }
    const { command, program, user, workdir, env } = executions.last.command;
    expect(command).toContain("exec '/usr/bin/env' '--' '/bin/bash' '-l' '-c' 'print this'");
    expect([program, user, workdir, env["HOME"]]).toEqual([undefined, undefined, "/root/there", "/root"]);
  });

  test("opens a terminal, types, changes its size and kills it", async () => {
    const sandbox = await Sandbox.create(e2bOptions(world));
    const handle = await sandbox.pty.create({ cols: 100, rows: 40, onData: () => undefined, timeoutMs: 0 });
    const { last } = world.host.executions;
    expect([last.command.tty, last.command.cols, last.command.rows]).toEqual([true, 100, 40]);
    expect(last.command.timeout_ms).toBe(0);
    expect(handle.pid).toBe(last.pid);
  });

  test("pauses a sandbox, which no call into it wakes, and connects to it again", async () => {
    const options = e2bOptions(world);
    const metadata = { job: randomUUID() };
    for (const lifecycle of [{ onTimeout: "kill" }, { onTimeout: "pause" }] as const) {
      const sandbox = await Sandbox.create({ ...options, metadata, lifecycle, timeoutMs: 60_000 });
      expect(await sandbox.pause()).toBe(true);
      expect(await sandbox.pause()).toBe(false);
      expect(await sandbox.isRunning()).toBe(false);
      await expect(sandbox.commands.run("true")).rejects.toThrow(SandboxNotFoundError);
      const { state, metadata: labels, lifecycle: kept } = await sandbox.getInfo();
      expect([state, labels, kept?.onTimeout]).toEqual(["paused", metadata, lifecycle.onTimeout]);
      const paused = Sandbox.list({ ...options, query: { metadata, state: ["paused"] } });
      expect((await paused.nextItems()).map(({ sandboxId }) => sandboxId)).toEqual([sandbox.sandboxId]);
      const again = await Sandbox.connect(sandbox.sandboxId, { ...options, timeoutMs: 120_000 });
      expect((await again.commands.run("goes on")).stdout).toBe("goes on");
      expect((await sandbox.commands.run("goes on")).stdout).toBe("goes on");
      await sandbox.kill();
    }
  });

  test("has a paused sandbox resumed by the next call where it asks for that", async () => {
    const lifecycle = { onTimeout: "pause", autoResume: true } as const;
    const sandbox = await Sandbox.create({ ...e2bOptions(world), lifecycle });
    await sandbox.pause();
    expect((await sandbox.getInfo()).lifecycle).toEqual(lifecycle);
    expect((await sandbox.commands.run("goes on")).stdout).toBe("goes on");
    expect((await sandbox.getInfo()).state).toBe("running");
  });

  test("begins at a snapshot by its name as well", async () => {
    const options = e2bOptions(world);
    const name = `of ${randomUUID()}`;
    const { names } = await (await Sandbox.create(options)).createSnapshot({ name });
    expect(names).toEqual([name]);
    expect((await (await Sandbox.create(name, options)).commands.run("from there")).stdout).toBe(
      "from there",
    );
  });

  test("has the newest snapshot of a name be what the name means, and the one before found by its id", async () => {
    const options = e2bOptions(world);
    const name = `of-${randomUUID()}`;
    const sandbox = await Sandbox.create(options);
    const first = await sandbox.createSnapshot({ name });
    const second = await sandbox.createSnapshot({ name: `${name}:default` });
    expect([first.names, second.names]).toEqual([[name], [name]]);
    const named = await Sandbox.listSnapshots({ ...options, name }).nextItems();
    expect(named.map(({ snapshotId }) => snapshotId)).toEqual([second.snapshotId]);
    const native = async (asked: string) =>
      (await world.call<{ id: string; name: string | null }>("GET", `/v1/snapshots/${asked}`)).body;
    expect((await native(name)).id).toBe(second.snapshotId);
    expect((await native(first.snapshotId)).name).toBeNull();
    await Sandbox.create(first.snapshotId, options);
    // What means one snapshot for good is no name of another.
    await expect(sandbox.createSnapshot({ name: first.snapshotId, ...options })).rejects.toThrow("400");
    expect((await native(first.snapshotId)).id).toBe(first.snapshotId);
    // Natively a name is one snapshot's, and stays it.
    const taken = await world.call("POST", `/v1/sandboxes/${nativeId(sandbox.sandboxId)}/snapshots`, {
      body: { name },
    });
    expect(taken.status).toBe(409);
    expect(await Sandbox.deleteSnapshot(name, options)).toBe(true);
    expect(await Sandbox.deleteSnapshot(name, options)).toBe(false);
    expect((await native(first.snapshotId)).id).toBe(first.snapshotId);
  });

  test("takes snapshots, lists them, begins at one, forks, and deletes them", async () => {
    const options = e2bOptions(world);
    const sandbox = await Sandbox.create(options);
    const { snapshotId } = await sandbox.createSnapshot();
    const snapshots = Sandbox.listSnapshots({ ...options, sandboxId: sandbox.sandboxId });
    expect((await snapshots.nextItems()).map((one) => one.snapshotId)).toEqual([snapshotId]);
    const begun = await Sandbox.create(snapshotId, options);
    expect((await begun.commands.run("from there")).stdout).toBe("from there");
    const forks = await sandbox.fork({ count: 2 });
    const ids = forks.map((one) => (one instanceof Error ? one.message : one.sandboxId));
    expect(new Set([...ids, sandbox.sandboxId]).size).toBe(3);
    expect(await Sandbox.deleteSnapshot(snapshotId, options)).toBe(true);
    expect(await Sandbox.deleteSnapshot(snapshotId, options)).toBe(false);
    await expect(Sandbox.create(snapshotId, options)).rejects.toThrow("404");
  });

  test("says what a sandbox may reach, at its creation and later", async () => {
    const options = e2bOptions(world);
    const allowed = { allowOut: ["1.1.1.1"], denyOut: ["0.0.0.0/0"] };
    const sandbox = await Sandbox.create({ ...options, network: allowed });
    const { network } = await sandbox.getInfo();
    expect([network?.allowOut, network?.denyOut]).toEqual([["1.1.1.1"], ["0.0.0.0/0"]]);
    await sandbox.updateNetwork({ denyOut: ["8.8.8.8"] });
    const path = `/v1/sandboxes/${nativeId(sandbox.sandboxId)}/egress`;
    const { body } = await world.call<{ mode: string; deny_cidrs: string[] }>("GET", path);
    expect([body.mode, body.deny_cidrs]).toEqual(["allow_all", ["8.8.8.8/32"]]);
    const offline = await Sandbox.create({ ...options, allowInternetAccess: false });
    expect((await offline.getInfo()).allowInternetAccess).toBe(false);
    await world.call("PUT", "/v1/secrets/API_KEY", { body: { value: "of the organization" } });
    const headers = (text: string) => ({
      rules: { "api.example.com": [{ transform: { headers: { Authorization: text } } }] },
    });
    const given = await Sandbox.create({ ...options, network: headers("Bearer {API_KEY}") });
    expect((await given.getInfo()).network).toMatchObject(headers("Bearer {API_KEY}"));
    await expect(sandbox.updateNetwork(headers("sk-plain"))).rejects.toThrow("has to name one secret");
  });

  test("reads what a sandbox has used", async () => {
    const sandbox = await Sandbox.create(e2bOptions(world));
    for (const metric of await sandbox.getMetrics()) expect(metric.cpuCount).toBe(1);
  });

  test("is told that a command's time was over", async () => {
    const sandbox = await Sandbox.create(e2bOptions(world));
    await expect(sandbox.commands.run("forever", { timeoutMs: 1_000 })).rejects.toThrow(TimeoutError);
    // The command ends with its call, also where the platform dies meanwhile.
    expect(world.host.executions.last.command.timeout_ms).toBeLessThanOrEqual(1_000);
  });
});

test("a sandbox whose request names no time gets that of the version it was asked by", async () => {
  const leftS = async (id: string) => {
    const { body } = await world.call<{ endAt: string }>("GET", `/e2b/sandboxes/${id}`);
    return (Date.parse(body.endAt) - Date.now()) / 1_000;
  };
  const sandbox = await newest.Sandbox.create(e2bOptions(world));
  expect(await leftS(sandbox.sandboxId)).toBeGreaterThan(200);
  await sandbox.pause();
  await newest.Sandbox.connect(sandbox.sandboxId, e2bOptions(world));
  expect(await leftS(sandbox.sandboxId)).toBeGreaterThan(200);
  const body = { templateID: "base" };
  const first = await world.call<{ sandboxID: string }>("POST", "/e2b/sandboxes", { body });
  expect(await leftS(first.body.sandboxID)).toBeLessThanOrEqual(15);
});

test("the forks of a sandbox whose ports are public are public, and others are not", async () => {
  for (const allowPublicTraffic of [true, false]) {
    const sandbox = await newest.Sandbox.create({ ...e2bOptions(world), network: { allowPublicTraffic } });
    const [fork] = await sandbox.fork({ count: 1 });
    if (fork === undefined || fork instanceof Error) throw new Error("there is no fork", { cause: fork });
    expect((await fork.getInfo()).network?.allowPublicTraffic).toBe(allowPublicTraffic);
  }
});
