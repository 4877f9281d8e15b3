// Snapshots, forks and rollbacks with real microVMs, through the API.

import { afterAll, expect, inject, test } from "vitest";
import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { eagerServices, inventory, startPlatform, until } from "./support/platform.ts";

const platform = await startPlatform({
  assets: inject("assets"),
  env: { ...eagerServices, SKERRY_WARM_MAX: "0" },
});
afterAll(() => platform.stop());

async function said(sandbox: Sandbox, command: string): Promise<string> {
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
  const named = (one: Sandbox) => hosts.replace(source.id.replace("_", "-"), one.id.replace("_", "-"));
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
