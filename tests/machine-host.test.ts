// What a host promises of a machine, whatever ends it: the disk and the console stay, and the cause is told. Asked as control asks.

import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { HostInfo } from "@skerry/contract/host-api/host-info";
import type { Vm, VmSpec } from "@skerry/contract/host-api/vm";
import { consoleLogs, namespacesInUse, qemuProcesses } from "./support/leftovers.ts";
import { LoneHost } from "./support/lone-host.ts";
import { nothingWaits, until } from "./support/platform.ts";
import { run } from "./support/run.ts";

const ID = "mch_one";
const MIB = 1024 * 1024;
const KEPT = ["below.json", "console.log", "disk.qcow2", "vm.json"];

let host: LoneHost;
let starts = 0;

beforeAll(async () => {
  host = await LoneHost.open(inject("assets"), nothingWaits);
});
afterAll(() => host.close());

/** Starts the machine, for the first time or again, and says which incarnation it is. A boot takes long where
 *  the CPU is emulated; the first time it is a clone. */
async function start(command: string | null, id = ID): Promise<string> {
  const isFirst = id !== ID || starts === 0;
  starts += 1;
  const spec: VmSpec = {
    ...{ execution_id: `exe_${starts}`, template: "base", size: "shared-cpu-1x", hostname: "machine" },
    ...{
      env: { GREETING: "hello" },
      egress_version: 1,
      machine: { command, disk: isFirst ? "new" : "kept" },
    },
    egress: { mode: "deny_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: false },
  };
  const { status, body } = await host.call("PUT", `/vms/${id}`, spec);
  expect(body).toMatchObject({ status: "running", execution_id: spec.execution_id });
  expect(status).toBe(200);
  return spec.execution_id;
}

async function seen(id = ID): Promise<Vm> {
  return (await host.call("GET", `/vms/${id}`)).body;
}

async function ended(id = ID): Promise<Vm> {
  await until("the machine has ended", async () => (await seen(id)).status !== "running");
  return seen(id);
}

const destroy = (executionId: string, id: string) =>
  host.call("DELETE", `/vms/${id}?execution_id=${executionId}`);

const disk = (): string => join(host.folder, "host/vms", ID, "disk.qcow2");

const stop = (executionId: string, graceMs = 10_000, id = ID) =>
  host.call("POST", `/vms/${id}/stop`, { execution_id: executionId, grace_ms: graceMs });

async function said(lines: number, id = ID): Promise<string> {
  const answer = await host.call<Buffer>("GET", `/vms/${id}/console?lines=${lines}&follow=false`);
  return answer.body.toString("latin1");
}

async function nothingRuns(): Promise<void> {
  expect(await qemuProcesses(host.instance)).toEqual([]);
  expect(await namespacesInUse(`${host.instance}-`)).toEqual([]);
  // It ends with QEMU, a moment later.
  await until("nobody keeps a console", async () => (await consoleLogs(host.folder)).length === 0);
}

test("a machine that is stopped is asked first, keeps its disk and its console, and boots from them", async () => {
  const first = await start("trap 'echo bye; exit 0' TERM; echo $GREETING; while :; do sleep 0.1; done");
  await host.execute(ID, first, "echo kept > /root/file");
  await until("it has said something", async () => (await said(10)) === "hello\n");
  const atRest = { status: "stopped", reason: null, exit: { exit_code: 0 } };
  expect((await stop(first)).body).toMatchObject(atRest);
  expect((await stop(first)).body).toMatchObject(atRest);
  await nothingRuns();
  expect(await host.filesWithoutSamples(ID)).toEqual(KEPT);

  // As a QEMU might leave it that a guest has broken into: what is below a disk is not the disk's to say.
  await run("qemu-img", "rebase", "-u", "-F", "raw", "-b", "/etc/passwd", disk());
  const second = await start("cat /root/file; exec sleep 1000");
  await until("it has read its file", async () => (await said(1)) === "kept\n");
  expect(await said(100)).toMatch(/^hello\n(Terminated\n)?bye\n/);
  expect(await host.execute(ID, second, "hostname; cat /root/file")).toBe("machine\nkept\n");
  const late = await host.call("POST", `/vms/${ID}/stop`, { execution_id: first, grace_ms: 0 });
  expect(late).toMatchObject({ status: 409, body: { code: "stale_execution" } });
  expect((await seen()).status).toBe("running");
  await stop(second);
});

test("a main process that does not listen is killed after its grace, with all that it has started", async () => {
  const id = "mch_deaf";
  const deaf = await start(
    "trap '' TERM; echo deaf; setsid sh -c 'while :; do sleep 1; done' & while :; do sleep 1; done",
    id,
  );
  await until("it has become deaf", async () => (await said(1, id)) === "deaf\n");
  const { body } = await stop(deaf, 300, id);
  expect(body).toMatchObject({ status: "stopped", reason: null, exit: { exit_code: 137, signal: 9 } });
  await destroy(deaf, id);
});

/** Fills its memory, but for less than it reads again and again: the kernel can always free those pages, and would never call it out of memory. */
const THRASHES = `
import mmap
own = "/sys/fs/cgroup" + open("/proc/self/cgroup").read().split("::")[1].strip()
number = lambda name: int(open(own + name).read())
def free():
    stat = dict(line.split() for line in open(own + "/memory.stat"))
    return number("/memory.max") - number("/memory.current") + int(stat["active_file"]) + int(stat["inactive_file"])
with open("/root/pages", "wb") as file: file.write(bytes(16 << 20))
file = open("/root/pages", "rb")
pages = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
held = []
while free() > 3 << 20: held.append(bytearray(b"x" * (256 << 10)))
while True:
    for at in range(0, len(pages), 4096): pages[at]
`;

type Death = readonly [what: string, command: string, expected: Partial<Vm>];

/** In its programs. */
const deaths: readonly Death[] = [
  [
    "exits with 0",
    "echo done",
    {
      cause: "main_exited",
      reason: "the main process exited with 0",
      exit: { exit_code: 0, signal: 0, oom_killed: false },
    },
  ],
  [
    "forks away and leaves a child behind",
    "setsid sleep 1000 & exit 3",
    {
      cause: "main_exited",
      reason: "the main process exited with 3",
      exit: { exit_code: 3, signal: 0, oom_killed: false },
    },
  ],
  [
    "takes all memory",
    "python3 -c 'x = []\nwhile True: x.append(bytearray(10 ** 6))'; exit $?",
    { cause: "out_of_memory" },
  ],
  ["waits for its memory all the time", `python3 -c '${THRASHES}'; exit $?`, { cause: "out_of_memory" }],
];

/** In its kernel, whose caches its disk never sees. */
const hardDeaths: readonly Death[] = [
  ["panics its kernel", "sync; echo c > /proc/sysrq-trigger", { cause: "guest_panicked" }],
  [
    "resets its machine",
    "echo b > /proc/sysrq-trigger",
    { cause: "guest_shut_down", reason: "the guest rebooted" },
  ],
];

const told = async () => (await host.call<HostInfo>("GET", "/info")).body.ended;

test("when the guest's programs end it, the reason says so, and the disk stays", async () => {
  const before = await told();
  const dying = deaths.map((death, index) => ({ id: `mch_dying${index}`, death }));
  const executions = await Promise.all(
    dying.map(({ id, death: [, command] }) => start(`sleep 1; ${command}`, id)),
  );
  await until("they have ended", async () =>
    (await Promise.all(dying.map(({ id }) => seen(id)))).every(({ status }) => status === "gone"),
  );
  expect(await told()).toBe((before ?? 0) + deaths.length);
  for (const {
    id,
    death: [what, , expected],
  } of dying) {
    expect(await seen(id), what).toMatchObject({ status: "gone", ...expected });
    expect(await host.filesWithoutSamples(id), what).toEqual(KEPT);
  }
  await nothingRuns();
  for (const [index, { id }] of dying.entries()) {
    await destroy(executions[index] ?? "", id);
    expect(await host.files(id)).toEqual([]);
  }
});

test.each(hardDeaths)(
  "when the guest %s, the reason says so, and the disk stays",
  async (_what, command, expected) => {
    const before = await told();
    await start(`echo here >> /root/lives; sync; ${command}`);
    await until("the host tells of it", async () => (await told()) !== before);
    expect(await seen()).toMatchObject({ status: "gone", ...expected });
    await nothingRuns();
    expect(await host.filesWithoutSamples(ID)).toEqual(KEPT);
  },
);

test("when QEMU is killed the reason says so, and the disk of that moment boots", async () => {
  const running = await start("while :; do echo line >> /root/growing; sleep 0.05; done");
  await host.execute(ID, running, "echo synced > /root/synced; sync");
  process.kill(await host.qemuPid(ID), "SIGKILL");
  expect(await ended()).toMatchObject({ cause: "qemu_ended" });
  const again = await start(null);
  expect(
    await host.execute(
      ID,
      again,
      "cat /root/synced; grep -vc line /root/growing; wc -l < /root/lives || true",
    ),
  ).toBe(`synced\n0\n${hardDeaths.length}\n`);
  await stop(again);
});

test("a console that is flooded with whatever bytes neither fills the disk nor keeps the agent from answering", async () => {
  const id = "mch_flood";
  const flood = "until [ -e /root/flood ]; do sleep 0.1; done; cat /dev/urandom /dev/urandom";
  const running = await start(`printf '\\033[2J\\377\\376\\n'; ${flood}`, id);
  await until("its bytes are there", async () => (await said(1, id)) === "\x1b[2J\xff\xfe\n");
  await host.execute(id, running, "touch /root/flood");
  const file = join(host.folder, "host/vms", id, "console.log");
  await until("it has written a lot", async () => (await stat(file)).size > MIB / 4);
  expect(await host.execute(id, running, "echo alive")).toBe("alive\n");
  expect((await stat(file)).size).toBeLessThanOrEqual(9 * MIB + 4_096);
  expect((await stop(running, 1_000, id)).body.status).toBe("stopped");
  await destroy(running, id);
});

test("a host that was killed finds its machine, follows it to its end, and a stop that was cut off is finished", async () => {
  const [followed, stopping] = ["mch_followed", "mch_stopping"];
  const running = await start(
    "i=0; while [ ! -e /root/go ]; do i=$((i+1)); echo $i >> /root/count; sleep 0.05; done; exit 7",
    followed,
  );
  const deaf = await start("trap '' TERM; while :; do sleep 0.1; done", stopping);
  const cut = stop(deaf, 60_000, stopping).catch(() => undefined);
  await until("it was told to stop", async () => (await marksStopping(stopping)) === true);
  await host.end("SIGKILL");
  await cut;
  await host.start();
  expect((await seen(followed)).status).toBe("running");
  // The same process goes on: its count does not begin anew.
  expect(await host.execute(followed, running, "grep -cx 1 /root/count; touch /root/go")).toBe("1\n");
  expect(await ended(followed)).toMatchObject({ cause: "main_exited", exit: { exit_code: 7 } });
  expect((await stop(deaf, 100, stopping)).body).toMatchObject({ status: "stopped", reason: null });
  await nothingRuns();
  await destroy(running, followed);
  await destroy(deaf, stopping);
});

test("machines outlive a host that is taken down, and destroying one leaves nothing", async () => {
  const running = await start("trap 'echo last > /root/last; exit 0' TERM; while :; do sleep 0.1; done");
  await host.execute(ID, running, "rm -f /root/last");
  await host.takeDown();
  await nothingRuns();
  await host.start();
  expect(await seen()).toMatchObject({ status: "gone", cause: "host_failed" });
  const again = await start(null);
  expect(await host.execute(ID, again, "cat /root/last")).toBe("last\n");

  const following = await host.open("GET", `/vms/${ID}/console?lines=1&follow=true`);
  const heard = following.toArray();
  await host.call("DELETE", `/vms/${ID}?execution_id=${running}`);
  expect((await seen()).status).toBe("running");
  expect((await host.call("DELETE", `/vms/${ID}?execution_id=${again}`)).status).toBe(204);
  await heard;
  expect(await host.files(ID)).toEqual([]);
  expect(await host.call("GET", `/vms/${ID}`)).toMatchObject({ status: 404 });
  await nothingRuns();
});

async function marksStopping(id: string): Promise<boolean> {
  const text = await readFile(join(host.folder, "host/vms", id, "vm.json"), "utf8");
  return (JSON.parse(text) as { machine: { stopping: boolean } }).machine.stopping;
}
