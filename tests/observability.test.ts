// What a whole platform tells of itself: figures of a real host, and who did what, by the commands of the README.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, inject, test } from "vitest";
import type { AuditList } from "@skerry/contract/audit/audit-event";
import { call, eagerServices, nothingWaits, skerry, startPlatform, until } from "./support/platform.ts";

// One of its own: nobody else counts in its figures.
const platform = await startPlatform({
  assets: inject("assets"),
  env: { ...eagerServices, ...nothingWaits, SKERRY_USAGE_SAMPLER_INTERVAL_MS: "1000" },
});
afterAll(() => platform.stop());
const env = { SKERRY_API_URL: platform.apiUrl, SKERRY_API_TOKEN: platform.token };

async function metric(name: string): Promise<number> {
  const text = await (await call(platform, "GET", "/metrics")).text();
  const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines.reduce((total, line) => total + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}

test("a host tells what its machine has used, and its heartbeat keeps telling", async () => {
  expect(await metric("skerry_host_memory_bytes")).toBeGreaterThan(2 ** 30);
  expect(await metric("skerry_host_disk_free_bytes")).toBeGreaterThan(0);
  expect(await metric("skerry_host_network_receive_bytes_total")).toBeGreaterThan(0);
  const before = await metric("skerry_host_cpu_seconds_total");
  expect(before).toBeGreaterThan(0);
  await until(
    "a heartbeat brings new figures",
    async () => (await metric("skerry_host_cpu_seconds_total")) > before,
  );
  expect(await metric("skerry_background_items_total")).toBeGreaterThan(0);
});

test("a sandbox shows in status, metrics and audit log, and its command in the log of requests without a word of it", async () => {
  const secret = "hunter2hunter2";
  const before = await metric("skerry_execute_duration_seconds_count");

  await using sandbox = await platform.client.sandboxes.create({ template: "base", timeout: "10m" });
  await sandbox.execute(`echo ${secret}`, { env: { PASSWORD: secret } });
  await sandbox.upload(`/root/${secret}`, secret);
  const status = await platform.client.status();
  expect(status.sandboxes.running).toBeGreaterThan(0);
  expect(status.hosts.online).toBe(1);
  expect(await metric("skerry_execute_duration_seconds_count")).toBe(before + 1);

  const printed = await skerry(env, "audit", "list", "--resource", sandbox.id, "--json");
  const events = (JSON.parse(printed) as AuditList).items;
  expect(events.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
    "sandbox.file.upload success",
    "sandbox.execute success",
    "sandbox.create success",
  ]);
  const table = await skerry(env, "audit", "list", "--action", "sandbox.execute", "--since", "2026-01-01");
  expect(table).toContain(sandbox.id);

  let log = "";
  let uploaded: string | undefined;
  await until("the upload is logged", async () => {
    log = await readFile(join(platform.state, "log/control.log"), "utf8");
    uploaded = log.split("\n").find((line) => line.includes(`/v1/sandboxes/${sandbox.id}/files/{path}`));
    return uploaded !== undefined;
  });
  expect(JSON.parse(uploaded ?? "{}")).toMatchObject({ method: "PUT", status: 200, bytes_in: secret.length });
  for (const text of [log, printed, table]) {
    expect(text).not.toContain(secret);
    expect(text).not.toContain(platform.token);
  }
});

test("what egress rules refuse is in the usage of the organization, also of a sandbox that is gone at once", async () => {
  const denied = async () =>
    (await platform.client.usage({ step: "1m" })).items.reduce((sum, point) => sum + point.denied, 0);
  const request = { template: "base", timeout: "10m", egress: { mode: "deny_all" } } as const;
  const connect = "python3 -c 'import socket; socket.create_connection((\"203.0.113.9\", 80), 2)' || true";
  const before = await denied();
  await using sandbox = await platform.client.sandboxes.create(request);
  await sandbox.execute(connect);
  await until("a refused packet is told", async () => (await denied()) > before);
  const then = await denied();
  const short = await platform.client.sandboxes.create(request);
  await short.execute(connect);
  await short.destroy();
  await until("so is one of a short life", async () => (await denied()) > then);
});
