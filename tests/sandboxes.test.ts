// The life of a sandbox from its first request to its last trace, and its snapshots, with real microVMs
// behind it. Refusals are tried in control's tests.

import { afterAll, describe, expect, inject, test } from "vitest";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import type { Sandbox as Client } from "../packages/sdk/src/skerry.ts";
import { createSandbox, destroySandbox, execute, getSandbox, outputOf, refusal } from "./support/api.ts";
import { call, eagerServices, inventory, nothingWaits, startPlatform, until } from "./support/platform.ts";

const HOUR_MS = 3_600_000;

// One of its own: nobody else changes what there is of it.
const platform = await startPlatform({
  assets: inject("assets"),
  env: { ...eagerServices, ...nothingWaits },
});
afterAll(() => platform.stop());

function create(body: object = { template: "base" }): Promise<Sandbox> {
  return createSandbox(platform, body);
}

/** From the moment that it was usable, so that a slow start costs its owner nothing. */
function lifetimeMs(sandbox: Sandbox): number {
  return Date.parse(sandbox.expires_at) - Date.parse(sandbox.started_at ?? "");
}

describe("creating", () => {
  test("with a template alone takes every default, and the sandbox is usable when the answer comes", async () => {
    const askedAtMs = Date.now();
    const sandbox = await create();
    const answeredAtMs = Date.now();
    expect(await execute(platform, sandbox.id, { command: "echo usable" })).toMatchObject({
      stdout: "usable\n",
    });
    expect(sandbox).toMatchObject({
      id: expect.stringMatching(/^sbx_[0-9a-z]{26}$/),
      name: null,
      template: "base",
      mode: "ephemeral",
      size: "shared-cpu-1x",
      status: "running",
      timeout: "5m",
      env: {},
      metadata: {},
      egress: { mode: "allow_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: true },
      host_id: expect.stringMatching(/^hst_/),
      destroyed_at: null,
      reason: null,
    });
    expect(lifetimeMs(sandbox)).toBe(5 * 60_000);
    expect(Date.parse(sandbox.created_at)).toBeGreaterThanOrEqual(askedAtMs);
    expect(Date.parse(sandbox.created_at)).toBeLessThanOrEqual(answeredAtMs);
    expect(Date.parse(sandbox.started_at ?? "")).toBeGreaterThanOrEqual(Date.parse(sandbox.created_at));
    expect(await getSandbox(platform, sandbox.id)).toEqual(sandbox);
    expect(await outputOf(platform, sandbox.id, "nproc; df -BG --output=size / | tail -1")).toMatch(
      /^1\n +4G$/,
    );
    const body = { timeout: "2h" };
    expect((await call(platform, "POST", `/v1/sandboxes/${sandbox.id}/keepalive`, { body })).status).toBe(
      200,
    );
    const { expires_at } = await getSandbox(platform, sandbox.id);
    expect(Date.parse(expires_at)).toBeGreaterThanOrEqual(answeredAtMs + 2 * HOUR_MS);
    await destroySandbox(platform, sandbox.id);
  });

  test("takes every field as it was given, and the VM has what they say", async () => {
    const fields = {
      template: "base",
      name: "Nightly ünit tests",
      mode: "ephemeral",
      timeout: "1h30m",
      size: "shared-cpu-2x",
      env: { EMPTY: "", _UNDER: "1", TEXT: "two words\nand a line" },
      metadata: { job: "7", "team/name": "ä" },
    };
    const sandbox = await create(fields);
    expect(sandbox).toMatchObject(fields);
    expect(lifetimeMs(sandbox)).toBe(1.5 * HOUR_MS);
    expect(await outputOf(platform, sandbox.id, 'nproc; echo "[$EMPTY] $TEXT"; env | grep ^_UNDER=')).toBe(
      "2\n[] two words\nand a line\n_UNDER=1",
    );
    const memoryKib = Number(
      await outputOf(platform, sandbox.id, "sed -n 's/MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo"),
    );
    expect(memoryKib / 1024).toBeGreaterThan(430);
    expect(memoryKib / 1024).toBeLessThanOrEqual(512);
    await destroySandbox(platform, sandbox.id);
  });
});

describe("the end", () => {
  test("by request gives everything back: process, namespace with its TAP, overlay, row", async () => {
    const before = await inventory(platform);
    const sandbox = await create();
    expect(await inventory(platform)).toEqual({
      ...before,
      processes: before.processes + 1,
      namespaces: before.namespaces + 1,
      overlays: before.overlays + 1,
      runningRows: before.runningRows + 1,
    });
    await destroySandbox(platform, sandbox.id);
    expect(await inventory(platform)).toEqual(before);
    const after = await getSandbox(platform, sandbox.id);
    expect(after).toMatchObject({ status: "destroyed", reason: "destroyed by request" });
    expect(Date.parse(after.destroyed_at ?? "")).toBeGreaterThan(Date.parse(sandbox.created_at));
  });

  test("comes by itself when the time is over, although a command still runs, and gives everything back", async () => {
    const before = await inventory(platform);
    const sandbox = await create({ template: "base", timeout: "3s" });
    const busy = call(platform, "POST", `/v1/sandboxes/${sandbox.id}/execute`, {
      body: { command: "sleep 200", timeout: "4m" },
    });
    await until(
      "the sandbox has expired",
      async () => (await getSandbox(platform, sandbox.id)).status === "destroyed",
    );
    const { reason, expires_at, destroyed_at } = await getSandbox(platform, sandbox.id);
    expect(reason).toMatch(/timeout|expired/);
    expect(Date.parse(destroyed_at ?? "")).toBeGreaterThanOrEqual(Date.parse(expires_at));
    expect(await inventory(platform)).toEqual(before);
    const { message } = await refusal(busy, 409, "sandbox_expired");
    expect(message).toBe("The sandbox has expired: its timeout of 3s is over.");
  });
});

async function said(sandbox: Client, command: string): Promise<string> {
  const { exit_code, stdout, stderr } = await sandbox.execute(command);
  if (exit_code !== 0) throw new Error(`${command}: ${stderr}`);
  return stdout.trim();
}

const IDENTITY = "od -An -tx1 -N8 /dev/urandom; cat /etc/machine-id; hostname";

test("forks go on from the same memory and disk, each as itself", async () => {
  await using source = await platform.client.sandboxes.create({ template: "base", timeout: "30m" });
  await said(source, "mount -t tmpfs none /mnt && echo in memory > /mnt/kept && echo on disk > /root/kept");
  await said(source, "sed -i '1i 10.9.8.7 dbhost # own' /etc/hosts && echo 10.9.8.6 last >> /etc/hosts");
  const hosts = await said(source, "cat /etc/hosts");
  const forks = await source.fork(3);
  await using undo = new AsyncDisposableStack();
  for (const one of forks) undo.use(one);
  expect(forks).toHaveLength(3);
  for (const one of [source, ...forks])
    expect(await said(one, "cat /mnt/kept /root/kept")).toBe("in memory\non disk");
  const identities = await Promise.all([source, ...forks].map((one) => said(one, IDENTITY)));
  for (const line of [0, 1, 2])
    expect(new Set(identities.map((identity) => identity.split("\n")[line])).size).toBe(4);
  const named = (one: Client) => hosts.replace(source.id.replace("_", "-"), one.id.replace("_", "-"));
  for (const one of [source, ...forks])
    expect(await said(one, "getent hosts $(hostname) >/dev/null; cat /etc/hosts")).toBe(named(one));
  await said(source, "echo other > /root/kept");
  const [first] = forks;
  if (first === undefined) throw new Error("no fork");
  expect(await said(first, "cat /root/kept")).toBe("on disk");
});

test("a sandbox goes back to its snapshot, and others begin there, also when it is gone", async () => {
  const source = await platform.client.sandboxes.create({ template: "base", timeout: "30m" });
  await said(source, "mount -t tmpfs none /mnt && echo before > /mnt/kept && echo before > /root/kept");
  const snapshot = await source.snapshot({ name: "before" });
  expect(snapshot).toMatchObject({ status: "ready", name: "before", parent_id: null });
  await said(source, "echo after > /mnt/kept; echo after > /root/kept");
  await source.rollback("before");
  expect(await said(source, "cat /mnt/kept /root/kept")).toBe("before\nbefore");
  await source.destroy();
  await using other = await platform.client.sandboxes.create({ snapshot: snapshot.id, timeout: "30m" });
  expect(await said(other, "cat /mnt/kept /root/kept")).toBe("before\nbefore");
  await platform.client.snapshots.delete(snapshot.id);
  expect(await said(other, "cat /mnt/kept")).toBe("before");
});

test("nothing is left when all are destroyed", async () => {
  await until("nothing is left", async () => {
    const { processes, overlays, namespaces } = await inventory(platform);
    return processes + overlays + namespaces === 0;
  });
});
