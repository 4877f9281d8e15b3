// E2B's published clients against a platform with a fake host: what they ask for is what our services do.

import { randomUUID } from "node:crypto";
import * as oldest from "e2b-2.45";
import * as newest from "e2b-2.51";
import { describe, expect, test } from "vitest";
import { e2bOptions } from "./support/e2b.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

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
    expect([command.workdir, command.env["A"], command.env["HOME"], command.reattach_ms]).toEqual([
      ...["/tmp", "1", "/root", -1],
    ]);
  });

  test("opens a terminal, types, changes its size and kills it", async () => {
    const sandbox = await Sandbox.create(e2bOptions(world));
    const handle = await sandbox.pty.create({ cols: 100, rows: 40, onData: () => undefined, timeoutMs: 0 });
    const { last } = world.host.executions;
    expect([last.command.tty, last.command.cols, last.command.rows]).toEqual([true, 100, 40]);
    expect(last.command.timeout_ms).toBe(0);
    expect(handle.pid).toBe(last.pid);
  });

  test("is told that a command's time was over", async () => {
    const sandbox = await Sandbox.create(e2bOptions(world));
    await expect(sandbox.commands.run("forever", { timeoutMs: 1_000 })).rejects.toThrow(TimeoutError);
    // The command ends with its call, also where the platform dies meanwhile.
    expect(world.host.executions.last.command.timeout_ms).toBeLessThanOrEqual(1_000);
  });
});
