// What a host promises of a machine, whatever ends it: the disk and the console stay, and the cause is told. Asked as control asks.

import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { HostInfo } from "@skerry/contract/host-api/host-info";
import type { Vm, VmSpec } from "@skerry/contract/host-api/vm";
import { consoleLogs, namespacesInUse, qemuProcesses } from "./support/leftovers.ts";
import { LoneHost } from "./support/lone-host.ts";
import { until } from "./support/platform.ts";
import { run } from "./support/run.ts";

const ID = "mch_one";
const MIB = 1024 * 1024;
const KEPT = ["below.json", "console.log", "disk.qcow2", "vm.json"];

let host: LoneHost;
let starts = 0;

beforeAll(async () => {
  host = await LoneHost.open(inject("assets"));
});
afterAll(() => host.close());

/** Starts the machine, for the first time or again, and says which incarnation it is. */
async function start(command: string | null): Promise<string> {
  starts += 1;
  const spec: VmSpec = {
    ...{ execution_id: `exe_${starts}`, template: "base", size: "shared-cpu-1x", hostname: "machine" },
    ...{
      env: { GREETING: "hello" },
      egress_version: 1,
      machine: { command, disk: starts === 1 ? "new" : "kept" },
    },
    egress: { mode: "deny_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: false },
  };
  const { status, body } = await host.call("PUT", `/vms/${ID}`, spec);
  expect(body).toMatchObject({ status: "running", execution_id: spec.execution_id });
  expect(status).toBe(200);
  return spec.execution_id;
}

async function seen(): Promise<Vm> {
  return (await host.call("GET", `/vms/${ID}`)).body;
}

async function ended(): Promise<Vm> {
  await until("the machine has ended", async () => (await seen()).status !== "running");
  return seen();
}

const disk = (): string => join(host.folder, "host/vms", ID, "disk.qcow2");

const stop = (executionId: string, graceMs = 10_000) =>
  host.call("POST", `/vms/${ID}/stop`, { execution_id: executionId, grace_ms: graceMs });

async function said(lines: number): Promise<string> {
  const answer = await host.call<Buffer>("GET", `/vms/${ID}/console?lines=${lines}&follow=false`);
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
});

test("a main process that does not listen is killed after its grace, with all that it has started", async () => {
  const { execution_id } = await seen();
  await stop(execution_id);
  const deaf = await start(
    "trap '' TERM; echo deaf; setsid sh -c 'while :; do sleep 1; done' & while :; do sleep 1; done",
  );
  await until("it has become deaf", async () => (await said(1)) === "deaf\n");
  const { body } = await stop(deaf, 300);
  expect(body).toMatchObject({ status: "stopped", reason: null, exit: { exit_code: 137, signal: 9 } });
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

const deaths: readonly (readonly [what: string, command: string, expected: Partial<Vm>])[] = [
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
  ["panics its kernel", "sync; echo c > /proc/sysrq-trigger", { cause: "guest_panicked" }],
  [
    "resets its machine",
    "echo b > /proc/sysrq-trigger",
    { cause: "guest_shut_down", reason: "the guest rebooted" },
  ],
];

test.each(deaths)(
  "when the guest %s, the reason says so, and the disk stays",
  async (_what, command, expected) => {
    const told = async () => (await host.call<HostInfo>("GET", "/info")).body.ended;
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
  ).toBe(`synced\n0\n${deaths.length}\n`);
  await stop(again);
});

test("a console that is flooded with whatever bytes neither fills the disk nor keeps the agent from answering", async () => {
  const flood = "until [ -e /root/flood ]; do sleep 0.1; done; cat /dev/urandom /dev/urandom";
  const running = await start(`printf '\\033[2J\\377\\376\\n'; ${flood}`);
  await until("its bytes are there", async () => (await said(1)) === "\x1b[2J\xff\xfe\n");
  await host.execute(ID, running, "touch /root/flood");
  const file = join(host.folder, "host/vms", ID, "console.log");
  await until("it has written a lot", async () => (await stat(file)).size > MIB / 4);
  expect(await host.execute(ID, running, "echo alive")).toBe("alive\n");
  expect((await stat(file)).size).toBeLessThanOrEqual(8 * MIB + 4_096);
  expect((await stop(running, 1_000)).body.status).toBe("stopped");
});

test("a host that was killed finds its machine, follows it to its end, and a stop that was cut off is finished", async () => {
  const running = await start(
    "i=0; while [ ! -e /root/go ]; do i=$((i+1)); echo $i >> /root/count; sleep 0.05; done; exit 7",
  );
  await host.end("SIGKILL");
  await host.start();
  expect((await seen()).status).toBe("running");
  // The same process goes on: its count does not begin anew.
  expect(await host.execute(ID, running, "grep -cx 1 /root/count; touch /root/go")).toBe("1\n");
  expect(await ended()).toMatchObject({ cause: "main_exited", exit: { exit_code: 7 } });

  const deaf = await start("trap '' TERM; while :; do sleep 0.1; done");
  const cut = stop(deaf, 60_000).catch(() => undefined);
  await until("it was told to stop", async () => (await marksStopping()) === true);
  await host.end("SIGKILL");
  await cut;
  await host.start();
  expect((await stop(deaf, 100)).body).toMatchObject({ status: "stopped", reason: null });
  await nothingRuns();
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

async function marksStopping(): Promise<boolean> {
  const text = await readFile(join(host.folder, "host/vms", ID, "vm.json"), "utf8");
  return (JSON.parse(text) as { machine: { stopping: boolean } }).machine.stopping;
}
