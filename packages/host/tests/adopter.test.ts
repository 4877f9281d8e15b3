// How a host process takes over the VMs that run when it starts: each on its own, and none holds up another one.

import { spawn, type ChildProcess, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { NO_EGRESS } from "../src/network/egress-loader.ts";
import type { VmEngine } from "../src/vm/engine/engine.ts";
import { FakeGuest } from "./support/fake-guest.ts";
import { FakeQemu } from "./support/fake-qemu.ts";
import { identityOf, leave, recordIn } from "./support/records.ts";
import { idle, EngineStub, noMoves } from "./support/stub-engine.ts";

const machine = { command: null, keeps_disk: true, stopping: false } as const;

let vms: string;
let engine: VmEngine;
let room: EngineStub;

beforeEach(async () => {
  vms = await mkdtemp("/tmp/skerry-unit-adopter-");
  room = new EngineStub(1_899_400_000);
  engine = room.engineIn(vms);
});
afterEach(async () => {
  engine.close();
  // A test closes its engine before it kills what stands for QEMU; otherwise the engine would still save a record here.
  await rm(vms, { recursive: true, force: true, maxRetries: 50 });
});

test.each([
  ["skerry-1a2b3c:mch_a:exe_1", "."],
  // A clone that waited keeps the name that it had then.
  ["skerry-1a2b3c:warm_1a2b:warm", "mch_a"],
])(
  "a QEMU that no record names is ended, and %s of a record of another version runs on with its slot",
  async (name, folderOfKept) => {
    const uid = 1_899_400_007;
    // The shell reads for ever by itself: a child of it would outlive it.
    const waiting: StdioOptions = ["pipe", "ignore", "ignore"];
    const start = (called: string, cwd = "/"): ChildProcess =>
      spawn("/bin/sh", ["-c", "read -r _", "sh", "-name", called], {
        stdio: waiting,
        uid,
        gid: uid,
        cwd,
      });
    const { folder } = await leave(recordIn(vms, "mch_a", { machine, process: undefined }));
    await writeFile(join(folder, "vm.json"), '{"format":99}');
    const kept = start(name, join(vms, folderOfKept));
    const stranger = start("skerry-1a2b3c:sbx_x:exe_1");
    // Its guest has taken it over and changed what it is called.
    const disguised = spawn("/bin/sh", ["-c", "read -r _"], {
      stdio: waiting,
      uid: uid + 1,
      gid: uid + 1,
    });
    try {
      await Promise.all([once(kept, "spawn"), once(stranger, "spawn"), once(disguised, "spawn")]);
      const ended = Promise.all([once(stranger, "exit"), once(disguised, "exit")]);
      await engine.adopt(noMoves);
      await ended;
      expect(kept.exitCode ?? kept.signalCode).toBeNull();
      // The slot of a stranger is free again when it has ended, and not before.
      expect(room.taken).toEqual([7, 8]);
      await expect.poll(() => room.closed).toEqual([8]);
      const gone = once(kept, "exit");
      await engine.destroy("mch_a", "exe_1");
      await gone;
    } finally {
      engine.close();
      for (const child of [kept, stranger, disguised]) child.kill("SIGKILL");
    }
  },
);

test("a VM whose guest does not answer holds up neither the start of the host nor another VM, and its policy can be changed", async () => {
  await using guest = await FakeGuest.start();
  const qemu = await idle();
  const other = await idle();
  try {
    const silent = await leave(recordIn(vms, "sbx_a", { process: await identityOf(qemu) }));
    // Its QEMU is stopped: the socket is there, and nothing answers.
    await using _stuck = await FakeQemu.listen(join(silent.folder, "qmp.sock"), { greets: false });
    const fine = await leave(recordIn(vms, "sbx_b", { process: await identityOf(other), slot: 4 }));
    await using _control = await FakeQemu.listen(join(fine.folder, "qmp.sock"));
    await symlink(guest.path, join(fine.folder, "agent.sock"));
    expect(await engine.adopt(noMoves)).toMatchObject({ running: 2 });
    const use = engine.use("sbx_b", "exe_1");
    const peer = await guest.peer();
    await peer.answerHello();
    await peer.close((await peer.opened()).id, {});
    (await use)[Symbol.dispose]();
    expect(engine.get("sbx_a").status).toBe("running");
    await engine.setEgress("sbx_a", { execution_id: "exe_1", egress: NO_EGRESS, version: 9 });
    expect(await readFile(join(silent.folder, "vm.json"), "utf8")).toContain('"egress_version":9');
    const ended = once(qemu, "exit");
    await engine.destroy("sbx_a", "exe_1");
    await ended;
    expect(engine.list().map(({ id }) => id)).toEqual(["sbx_b"]);
  } finally {
    engine.close();
    for (const child of [qemu, other]) child.kill("SIGKILL");
  }
});

test("a policy that is changed while its VM is adopted is the policy of the adopted VM", async () => {
  await using guest = await FakeGuest.start();
  const qemu = await idle();
  try {
    const record = await leave(recordIn(vms, "sbx_a", { process: await identityOf(qemu) }));
    await using control = await FakeQemu.listen(join(record.folder, "qmp.sock"));
    control.status = "running";
    await symlink(guest.path, join(record.folder, "agent.sock"));
    await engine.adopt(noMoves);
    const peer = await guest.peer();
    const rules = Promise.withResolvers<void>();
    room.loadRules = () => rules.promise;
    const changed = engine.setEgress("sbx_a", { execution_id: "exe_1", egress: NO_EGRESS, version: 9 });
    await peer.answerHello();
    // Long enough for the rest of the adoption.
    await Promise.race([engine.adopted("sbx_a"), sleep(200)]);
    rules.resolve();
    await changed;
    await engine.adopted("sbx_a");
    expect(await engine.egress("sbx_a", "exe_1")).toEqual(NO_EGRESS);
  } finally {
    engine.close();
    qemu.kill("SIGKILL");
  }
});

test("a machine whose stop was cut off together with its host has stopped, although nobody heard it", async () => {
  await using guest = await FakeGuest.start();
  const qemu = await idle();
  try {
    const record = await leave(
      recordIn(vms, "mch_a", { machine: { ...machine, stopping: true }, process: await identityOf(qemu) }),
    );
    await using _control = await FakeQemu.listen(join(record.folder, "qmp.sock"));
    await symlink(guest.path, join(record.folder, "agent.sock"));
    await engine.adopt(noMoves);
    (await guest.peer()).hangUp();
    await expect.poll(() => engine.get("mch_a")).toMatchObject({ status: "stopped", reason: null });
  } finally {
    engine.close();
    qemu.kill("SIGKILL");
  }
});

test("a call that waits for an adoption when its host stops does not hear that the VM has ended, which runs on", async () => {
  const qemu = await idle();
  try {
    const record = await leave(recordIn(vms, "mch_a", { machine, process: await identityOf(qemu) }));
    await using _stuck = await FakeQemu.listen(join(record.folder, "qmp.sock"), { greets: false });
    await engine.adopt(noMoves);
    const calls = [
      engine.stop("mch_a", { execution_id: "exe_1", grace_ms: 0 }),
      engine.use("mch_a", "exe_1"),
    ];
    const ended = Promise.allSettled(calls);
    engine.close();
    const unavailable = { status: "rejected", reason: { code: "host_unavailable" } };
    expect(await ended).toMatchObject([unavailable, unavailable]);
    expect(qemu.exitCode ?? qemu.signalCode).toBeNull();
  } finally {
    engine.close();
    qemu.kill("SIGKILL");
  }
});

test("calls that wait for a VM whose guest does not answer are bounded in number, and its machine can be stopped all the same", async () => {
  const qemu = await idle();
  try {
    const record = await leave(recordIn(vms, "mch_a", { machine, process: await identityOf(qemu) }));
    await using _stuck = await FakeQemu.listen(join(record.folder, "qmp.sock"), { greets: false });
    await engine.adopt(noMoves);
    const calls = Array.from({ length: 70 }, () =>
      engine.use("mch_a", "exe_1").then(
        () => "used",
        (error: { code?: string }) => error.code,
      ),
    );
    const refused = await Promise.all(calls.slice(64));
    expect(refused).toEqual(Array(6).fill("host_unavailable"));
    const ended = once(qemu, "exit");
    // A call that waits makes room, and stop waits for the guest first; then it is as after a power failure.
    engine.close();
    await Promise.all(calls);
    engine = room.engineIn(vms);
    await engine.adopt(noMoves);
    expect(await engine.stop("mch_a", { execution_id: "exe_1", grace_ms: 0 })).toMatchObject({
      status: "stopped",
      reason: null,
    });
    await ended;
  } finally {
    engine.close();
    qemu.kill("SIGKILL");
  }
});
