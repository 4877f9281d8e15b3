// What is paused, and snapshots, go to another real host when theirs is drained, and go on there byte for byte.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Host, Sandbox } from "../packages/sdk/src/skerry.ts";
import {
  eagerServices,
  freePort,
  nothingWaits,
  startPlatform,
  until,
  type Platform,
} from "./support/platform.ts";
import { joinHost, type SecondHost } from "./support/second-host.ts";

/** Beyond what a drain takes. */
const SETTLED_WITHIN_MS = 120_000;

let platform: Platform;
let second: SecondHost;
let first: Host;

beforeAll(async () => {
  // The other host sends back to it.
  const listen = `127.0.0.1:${await freePort()}`;
  const env = { ...eagerServices, ...nothingWaits, SKERRY_HOST_LISTEN: listen };
  platform = await startPlatform({ assets: inject("assets"), env });
  const found = (await hosts())[0];
  if (found === undefined) throw new Error("there is no first host");
  first = found;
  second = await joinHost(platform);
});

afterAll(async () => {
  await second?.stop();
  await platform.stop();
});

async function hosts(): Promise<Host[]> {
  const all: Host[] = [];
  for await (const host of platform.client.hosts.list()) all.push(host);
  return all;
}

/** Resolves when nothing is left on it; the other one takes what comes. */
async function drain(id: string): Promise<void> {
  for (const host of await hosts()) if (host.id !== id) await platform.client.hosts.activate(host.id);
  await platform.client.hosts.drain(id);
  await until(
    "the host is in maintenance",
    async () => (await platform.client.hosts.get(id)).status === "maintenance",
    SETTLED_WITHIN_MS,
  );
}

async function said(sandbox: Sandbox, command: string): Promise<string> {
  const { exit_code, stdout, ...end } = await sandbox.execute(command, { timeout: "5m" });
  if (exit_code !== 0) throw new Error(`${command}: ${exit_code} ${JSON.stringify(end)}`);
  return stdout.trim();
}

const PREPARE = `mount -t tmpfs none /mnt && head -c 24000000 /dev/urandom > /mnt/kept && head -c 3000000 /dev/urandom > /root/kept
(n=0; while :; do n=$((n + 1)); echo $n > /mnt/count; sleep 0.1; done) > /dev/null 2>&1 < /dev/null &
true`;
const SUMS =
  "sha256sum /mnt/kept /root/kept /usr/bin/* /lib/x86_64-linux-gnu/*.so* | sha256sum; sha256sum /mnt/kept /root/kept";

async function goesOn(sandbox: Sandbox, from: number): Promise<void> {
  await until("it goes on counting", async () => Number(await said(sandbox, "cat /mnt/count")) > from);
}

/** Whatever a host has in files of guests. */
async function savedAt(stateFolder: string): Promise<string[]> {
  const folders = ["vms", "snapshots"].map((name) => join(stateFolder, name));
  return (await Promise.all(folders.map((folder) => readdir(folder).catch(() => [])))).flat();
}

test("a sandbox that is paused and a snapshot of it go to another host and back, and go on counting there", async () => {
  await using sandbox = await platform.client.sandboxes.create({
    template: "base",
    mode: "persistent",
    timeout: "30m",
    egress: { mode: "deny_all" },
  });
  const home = sandbox.info.host_id ?? "";
  const away = home === first.id ? second.id : first.id;
  await said(sandbox, PREPARE);
  await goesOn(sandbox, 5);
  const before = await said(sandbox, SUMS);
  const snapshot = await sandbox.snapshot();
  for (const [from, to] of [
    [home, away],
    [away, home],
  ] as const) {
    const counted = Number(await said(sandbox, "cat /mnt/count"));
    await sandbox.pause();
    await drain(from);
    expect((await sandbox.refresh()).info).toMatchObject({ status: "paused", host_id: to });
    expect((await platform.client.snapshots.get(snapshot.id)).host_id).toBe(to);
    const left = from === second.id ? second.state : join(platform.state, "host");
    expect(await savedAt(left)).toEqual([]);
    // The call resumes it.
    expect(await said(sandbox, SUMS)).toBe(before);
    await goesOn(sandbox, counted);
    await expectDenied(sandbox);
    await using other = await platform.client.sandboxes.create({ snapshot: snapshot.id, timeout: "30m" });
    expect(await said(other, SUMS)).toBe(before);
    await goesOn(other, 5);
  }
  await platform.client.snapshots.delete(snapshot.id);
});

test("where a host is full, a fork and what begins from a snapshot go to another one with their memory", async () => {
  await drain(first.id);
  await using undo = new AsyncDisposableStack();
  const source = undo.use(await platform.client.sandboxes.create({ template: "base", timeout: "30m" }));
  expect(source.info.host_id).toBe(second.id);
  await said(source, "mount -t tmpfs none /mnt && echo in memory > /mnt/kept && echo on disk > /root/kept");
  const snapshot = await source.snapshot();
  // Its memory is that of eight.
  for (let filled = 1; filled < 8; filled += 1)
    undo.use(await platform.client.sandboxes.create({ template: "base", timeout: "30m" }));
  await platform.client.hosts.activate(first.id);
  const forks = await source.fork(2);
  const begun = await platform.client.sandboxes.create({ snapshot: snapshot.id, timeout: "30m" });
  for (const one of [...forks, begun]) {
    undo.use(one);
    expect(one.info.host_id).toBe(first.id);
    expect(await said(one, "cat /mnt/kept /root/kept")).toBe("in memory\non disk");
  }
  expect((await platform.client.snapshots.get(snapshot.id)).host_id).toBe(first.id);
  // The snapshot of the fork is on neither host, and this one on one of them.
  await until("its files are in one place", async () => {
    const kept = await Promise.all([
      savedSnapshots(second.state),
      savedSnapshots(join(platform.state, "host")),
    ]);
    return kept.flat().join() === snapshot.id;
  });
  await platform.client.snapshots.delete(snapshot.id);
});

function savedSnapshots(stateFolder: string): Promise<string[]> {
  return readdir(join(stateFolder, "snapshots")).catch(() => []);
}

const ELSEWHERE = "203.0.113.10";
/** The first packet of a connection leaves with the call itself, which does not wait for more. */
const CONNECT = `python3 -c 'import socket; s = socket.socket(); s.setblocking(False); s.connect_ex(("${ELSEWHERE}", 80))'`;

/** Its rules refuse what it tries, from the first packet on. */
async function expectDenied(sandbox: Sandbox): Promise<void> {
  const before = await packets(sandbox);
  await until("it is denied", async () => {
    await said(sandbox, CONNECT);
    return (await packets(sandbox)).denied > before.denied;
  });
  expect((await packets(sandbox)).sent).toBe(before.sent);
}

/** Those that its rules let out, and those that they denied. */
async function packets(sandbox: Sandbox): Promise<{ sent: number; denied: number }> {
  const { counters, denied } = await sandbox.egress();
  const found = denied.find(({ rule, address }) => rule === "deny_all" && address === ELSEWHERE);
  return { sent: counters.packets_out, denied: found?.count ?? 0 };
}

test("what was denied while it ran stays denied through a pause, a fork, a snapshot and a move", async () => {
  await using sandbox = await platform.client.sandboxes.create({
    ...{ template: "base", mode: "persistent", timeout: "1h" },
  });
  await until("it is let out", async () => {
    await said(sandbox, CONNECT);
    return (await packets(sandbox)).sent > 0;
  });
  expect((await packets(sandbox)).denied).toBe(0);
  await sandbox.setEgress({ mode: "deny_all" });
  await expectDenied(sandbox);
  await sandbox.pause();
  await sandbox.resume();
  const [fork] = await sandbox.fork();
  if (fork === undefined) throw new Error("there is no fork");
  await using _fork = fork;
  await fork.snapshot();
  const from = (await fork.refresh()).info.host_id ?? "";
  await drain(from);
  for (const moved of [sandbox, fork]) {
    expect((await moved.refresh()).info.host_id).not.toBe(from);
    await expectDenied(moved);
  }
});
