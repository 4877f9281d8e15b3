// What a host promises of a VM that is paused, kept as a snapshot, and started from what was kept. Asked as control asks.

import { open, readdir, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { ErrorBody } from "@skerry/contract/errors";
import type { HostSnapshot, VmOrigin } from "@skerry/contract/host-api/snapshots";
import type { Vm, VmSpec } from "@skerry/contract/host-api/vm";
import { namespacesInUse, qemuProcesses } from "./support/leftovers.ts";
import { LoneHost } from "./support/lone-host.ts";
import { nothingWaits, until } from "./support/platform.ts";
import { usesNoCpu } from "./support/rest.ts";

const MIB = 1024 * 1024;

let host: LoneHost;
let starts = 0;

beforeAll(async () => {
  // No clones wait, so what there is is what this file has made.
  host = await LoneHost.open(inject("assets"), nothingWaits);
});
afterAll(() => host.close());

interface Started {
  readonly id: string;
  readonly executionId: string;
}

async function put(id: string, from?: VmOrigin, machine?: VmSpec["machine"]) {
  starts += 1;
  const executionId = `exe_${starts}`;
  const spec: VmSpec = {
    ...{ execution_id: executionId, template: "base", size: "shared-cpu-1x", hostname: id.replace("_", "-") },
    ...{ env: { GREETING: "hello" }, egress_version: 1 },
    egress: { mode: "deny_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: false },
    ...(from === undefined ? {} : { from }),
    ...(machine === undefined ? {} : { machine }),
  };
  return { executionId, answer: await host.call<Vm | ErrorBody>("PUT", `/vms/${id}`, spec) };
}

async function start(id: string, from?: VmOrigin, machine?: VmSpec["machine"]): Promise<Started> {
  const { executionId, answer } = await put(id, from, machine);
  expect(answer).toMatchObject({ status: 200, body: { status: "running", execution_id: executionId } });
  return { id, executionId };
}

const sh = ({ id, executionId }: Started, command: string) => host.execute(id, executionId, command);
const pause = ({ id, executionId }: Started) =>
  host.call<Vm | ErrorBody>("POST", `/vms/${id}/pause`, { execution_id: executionId });
const snapshotId = (): string => `snp_${String(++starts).padStart(26, "0")}`;
const snapshot = ({ id, executionId }: Started, snapshot_id = snapshotId()) =>
  host.call<HostSnapshot & ErrorBody>("POST", `/vms/${id}/snapshots`, {
    execution_id: executionId,
    snapshot_id,
  });
const destroy = ({ id, executionId }: Started) =>
  host.call("DELETE", `/vms/${id}?execution_id=${executionId}`);
const inVm = (id: string, file: string): string => join(host.folder, "host/vms", id, file);
const inSnapshot = (id: string, file: string): string => join(host.folder, "host/snapshots", id, file);

/** A program that holds memory with known bytes, counts, and tells both when it is asked. */
const COUNTER = `cat > /root/counter.py <<'X'
import hashlib, os, time
held = bytearray(os.urandom(1 << 20) * 24)
want = hashlib.sha256(held).hexdigest()
count = 0
while True:
    count += 1
    whole = "whole" if count % 20 or hashlib.sha256(held).hexdigest() == want else "BROKEN"
    open("/tmp/count.part", "w").write(f"{count} {whole} {want}\\n")
    os.rename("/tmp/count.part", "/tmp/count")
    time.sleep(0.02)
X
setsid python3 /root/counter.py </dev/null >/dev/null 2>&1 & while ! [ -s /tmp/count ]; do sleep 0.1; done`;

async function counted(vm: Started): Promise<{ count: number; whole: string; want: string }> {
  const [count, whole = "", want = ""] = (await sh(vm, "cat /tmp/count")).trim().split(" ");
  return { count: Number(count), whole, want };
}

test("a paused sandbox holds nothing but files, and goes on with its memory, its disk and its programs", async () => {
  let vm = await start("sbx_paused");
  await sh(vm, COUNTER);
  await sh(vm, "head -c 3000000 /dev/urandom > /root/file; sync");
  const hash = await sh(vm, "sha256sum /root/file; cat /etc/machine-id; hostname");
  let before = await counted(vm);
  for (let cycle = 0; cycle < 2; cycle += 1) {
    expect(await pause(vm)).toMatchObject({ status: 200, body: { status: "paused", reason: null } });
    // Said twice it is one pause.
    expect(await pause(vm)).toMatchObject({ status: 200, body: { status: "paused" } });
    expect(await qemuProcesses(host.instance)).toEqual([]);
    expect(await namespacesInUse(`${host.instance}-`)).toEqual([]);
    expect(await host.filesWithoutSamples(vm.id)).toEqual([
      "disk.qcow2",
      "memory",
      "saved.json",
      "state",
      "vm.json",
    ]);
    expect((await stat(inVm(vm.id, "memory"))).mode & 0o777).toBe(0o600);
    vm = await start("sbx_paused", { kind: "paused" });
    expect(await sh(vm, "sha256sum /root/file; cat /etc/machine-id; hostname")).toBe(hash);
    await until("it counts on", async () => (await counted(vm)).count > before.count + 40);
    const after = await counted(vm);
    expect(after).toMatchObject({ whole: "whole", want: before.want });
    before = after;
    const guestClock = Number(await sh(vm, "date +%s"));
    expect(Math.abs(guestClock - Date.now() / 1000)).toBeLessThan(5);
  }
  await destroy(vm);
  expect(await host.files(vm.id)).toEqual([]);
});

test("a VM of which a snapshot is taken goes on, and forks of it differ in all that must", async () => {
  const vm = await start("sbx_origin");
  await sh(vm, COUNTER);
  await sh(vm, "echo one > /root/file; sync");
  const kept = snapshotId();
  const taken = await snapshot(vm, kept);
  expect(taken).toMatchObject({
    status: 200,
    body: { id: kept, vm_id: "sbx_origin", template: "base", size: "shared-cpu-1x" },
  });
  expect(taken.body.memory_bytes).toBeGreaterThan(24 * MIB);
  expect((await snapshot(vm, kept)).body).toEqual(taken.body);
  const then = await counted(vm);
  await sh(vm, "echo two > /root/file; sync");
  await until("the origin goes on", async () => (await counted(vm)).count > then.count);

  const forks = [];
  for (const id of ["sbx_fork1", "sbx_fork2"])
    forks.push(await start(id, { kind: "snapshot", snapshot_id: kept }));
  const tell =
    "cat /proc/sys/kernel/random/uuid; head -c 16 /dev/urandom | od -An -tx1; cat /etc/machine-id; hostname";
  const told = await Promise.all(forks.map((fork) => sh(fork, tell)));
  const lines = told.map((text) => text.trim().split("\n"));
  for (const at of [0, 1, 2, 3]) expect(lines[0]?.[at]).not.toBe(lines[1]?.[at]);
  for (const fork of forks) {
    expect(await sh(fork, "cat /root/file")).toBe("one\n");
    await until("a fork counts on", async () => (await counted(fork)).count > then.count + 20);
    expect(await counted(fork)).toMatchObject({ whole: "whole", want: then.want });
  }
  expect(await sh(vm, "cat /root/file")).toBe("two\n");

  // A snapshot of a fork stands on the template alone: its origin may go.
  const [first, second] = forks as [Started, Started];
  await sh(first, "echo three > /root/file; sync");
  const again = (await snapshot(first)).body.id;
  expect((await host.call("DELETE", `/snapshots/${kept}`)).status).toBe(204);
  await destroy(vm);
  const third = await start("sbx_fork3", { kind: "snapshot", snapshot_id: again });
  expect(await sh(third, "cat /root/file")).toBe("three\n");
  await until("it counts on", async () => (await counted(third)).count > then.count + 20);
  expect(await counted(third)).toMatchObject({ whole: "whole", want: then.want });
  // What the removed one's pages were mapped from is still there.
  expect(await counted(second)).toMatchObject({ whole: "whole", want: then.want });
  for (const fork of [first, second, third]) await destroy(fork);
  expect((await host.call("DELETE", `/snapshots/${again}`)).status).toBe(204);
  expect((await host.call("DELETE", `/snapshots/${again}`)).status).toBe(204);
  expect((await host.call<{ items: unknown[] }>("GET", "/snapshots")).body).toEqual({ items: [] });
  expect(await readdir(join(host.folder, "host/snapshots"))).toEqual([]);
});

test("a guest at rest is kept as often as one that runs, stays at rest, and is paused afterwards", async () => {
  const vm = await start("sbx_resting");
  await sh(vm, "echo kept > /dev/shm/file");
  const pid = (await qemuProcesses(host.instance)).find((qemu) => qemu.vm === vm.id)?.pid ?? 0;
  await usesNoCpu(pid);
  const [first, second] = [await snapshot(vm), await snapshot(vm)];
  expect([first.status, second.status]).toEqual([200, 200]);
  await usesNoCpu(pid);
  const fork = await start("sbx_rested", { kind: "snapshot", snapshot_id: second.body.id });
  expect(await sh(fork, "cat /dev/shm/file")).toBe("kept\n");
  expect((await pause(vm)).status).toBe(200);
  const again = await start("sbx_resting", { kind: "paused" });
  expect(await sh(again, "cat /dev/shm/file")).toBe("kept\n");
  for (const one of [fork, again]) await destroy(one);
  for (const { body } of [first, second]) await host.call("DELETE", `/snapshots/${body.id}`);
});

test("a file that was cut short or changed by one byte is refused, and what was paused stays", async () => {
  let vm = await start("sbx_damaged");
  const kept = (await snapshot(vm)).body.id;
  await flip(inSnapshot(kept, "memory"));
  const fork = await put("sbx_fork", { kind: "snapshot", snapshot_id: kept });
  expect(fork.answer).toMatchObject({ status: 409, body: { code: "snapshot_damaged" } });
  expect(await host.files("sbx_fork")).toEqual([]);
  await host.call("DELETE", `/snapshots/${kept}`);

  expect((await pause(vm)).status).toBe(200);
  for (const file of ["memory", "state"]) {
    await flip(inVm(vm.id, file));
    const refused = await put(vm.id, { kind: "paused" });
    expect(refused.answer).toMatchObject({ status: 409, body: { code: "snapshot_damaged" } });
    expect((await host.call("GET", `/vms/${vm.id}`)).body).toMatchObject({
      ...{ status: "paused", execution_id: refused.executionId },
    });
    expect(await qemuProcesses(host.instance)).toEqual([]);
    await flip(inVm(vm.id, file));
  }
  vm = await start(vm.id, { kind: "paused" });
  expect((await pause(vm)).status).toBe(200);
  await truncate(inVm(vm.id, "memory"), 8192);
  expect((await put(vm.id, { kind: "paused" })).answer.body).toMatchObject({ code: "snapshot_damaged" });
  const { execution_id } = (await host.call("GET", `/vms/${vm.id}`)).body;
  await destroy({ id: vm.id, executionId: execution_id });
  expect(await host.files(vm.id)).toEqual([]);
});

test("a host that is killed leaves what is paused paused, what runs running, and snapshots where they are", async () => {
  const vm = await start("sbx_survivor");
  const sleeper = await start("sbx_sleeper");
  await sh(sleeper, COUNTER);
  const before = await counted(sleeper);
  const kept = (await snapshot(vm)).body.id;
  expect((await pause(sleeper)).status).toBe(200);
  await host.end("SIGKILL");
  await host.start();
  expect((await host.call("GET", `/vms/${sleeper.id}`)).body).toMatchObject({ status: "paused" });
  const items = (await host.call<{ items: HostSnapshot[] }>("GET", "/snapshots")).body.items;
  expect(items.map(({ id }) => id)).toEqual([kept]);
  const again = await start(sleeper.id, { kind: "paused" });
  await until("it counts on", async () => (await counted(again)).count > before.count + 20);
  const fork = await start("sbx_fork", { kind: "snapshot", snapshot_id: kept });
  expect(await sh(fork, "echo $GREETING")).toBe("hello\n");
  expect(await sh(vm, "echo $GREETING")).toBe("hello\n");
  for (const one of [vm, again, fork]) await destroy(one);
  await host.call("DELETE", `/snapshots/${kept}`);
});

test("a machine that has booted from its disk is kept and forked like a clone, and is not paused", async () => {
  const command = "while :; do date +%s >> /root/log; sleep 0.2; done";
  const first = await start("mch_kept", undefined, { command, disk: "new" });
  expect((await pause(first)).body).toMatchObject({ code: "bad_request" });
  await host.call("POST", `/vms/${first.id}/stop`, { execution_id: first.executionId, grace_ms: 100 });
  const booted = await start("mch_kept", undefined, { command, disk: "kept" });
  await sh(booted, "echo held > /dev/shm/memory; echo kept > /root/file; sync");
  const kept = (await snapshot(booted)).body.id;
  const fork = await start("mch_fork", { kind: "snapshot", snapshot_id: kept }, { command, disk: "new" });
  expect(await sh(fork, "cat /dev/shm/memory /root/file")).toBe("held\nkept\n");
  const lines = async () => Number(await sh(fork, "wc -l < /root/log"));
  const seen = await lines();
  await until("its main process runs on", async () => (await lines()) > seen);
  for (const one of [booted, fork]) await destroy(one);
  await host.call("DELETE", `/snapshots/${kept}`);
});

test("what is not there, or is another size's, is refused and leaves nothing", async () => {
  const none = await put("sbx_none", { kind: "paused" });
  expect(none.answer).toMatchObject({ status: 404, body: { code: "vm_not_found" } });
  const lost = await put("sbx_none", { kind: "snapshot", snapshot_id: snapshotId() });
  expect(lost.answer).toMatchObject({ status: 404, body: { code: "snapshot_not_found" } });
  expect((await host.call("DELETE", "/snapshots/..%2f..%2fvms")).status).toBe(400);
  expect(await host.files("sbx_none")).toEqual([]);
  expect(await namespacesInUse(`${host.instance}-`)).toEqual([]);
});

async function flip(file: string): Promise<void> {
  const handle = await open(file, "r+");
  try {
    const { size } = await handle.stat();
    const at = size - 100;
    const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, at);
    await handle.write(Buffer.from([(buffer[0] ?? 0) ^ 1]), 0, 1, at);
  } finally {
    await handle.close();
  }
}
