// All sandboxes wake from the same frozen template. These tests hold two of them against each other, and both against the host:
// what must differ differs, the clocks are right, and neither finds a way to the other or to the host.

import { spawn } from "node:child_process";
import { readFile, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { createSandbox, destroySandbox, execute, outputOf } from "./support/api.ts";
import { machineAddresses } from "./support/machine-addresses.ts";
import { qemuPidOf } from "./support/platform.ts";
import { sharedPlatform } from "./support/shared.ts";

const platform = await sharedPlatform();
let one: Sandbox;
let two: Sandbox;
let firstReading: ClockReading;

beforeAll(async () => {
  [one, two] = await Promise.all([newClone(), newClone()]);
  // A guest in which nothing runs would stand still, and have its clock set afterwards.
  await execute(platform, one.id, { command: "sleep 600 >/dev/null 2>&1 &" });
  firstReading = await readClock(one);
});

afterAll(() => Promise.all([destroySandbox(platform, one.id), destroySandbox(platform, two.id)]));

function newClone(): Promise<Sandbox> {
  return createSandbox(platform, { template: "base", timeout: "30m" });
}

/** What this command prints in each of the two. */
function inBoth(command: string): Promise<[string, string]> {
  return Promise.all([outputOf(platform, one.id, command), outputOf(platform, two.id, command)]);
}

test.each([
  ["random bytes of the kernel", "head -c 32 /dev/urandom | od -An -tx1"],
  ["getrandom, asked for before anything else", "python3 -c 'import os; print(os.getrandom(32).hex())'"],
  ["UUIDs", "cat /proc/sys/kernel/random/uuid"],
  ["boot ids", "cat /proc/sys/kernel/random/boot_id"],
  ["machine ids", "cat /etc/machine-id"],
  ["host names", "hostname"],
  ["Python's random numbers", "python3 -c 'import random; print(random.random(), random.getrandbits(64))'"],
  [
    "Python's secrets and UUIDs",
    "python3 -c 'import secrets, uuid; print(secrets.token_hex(), uuid.uuid4())'",
  ],
  ["Python's hash seeds", "python3 -c 'print(hash(\"skerry\"))'"],
  ["bash's random numbers", "bash -c 'echo $RANDOM $RANDOM $RANDOM $RANDOM $SRANDOM'"],
  ["names of temporary files", "mktemp -u"],
])("two sandboxes of one template do not share %s", async (_what, command) => {
  const [first, second] = await inBoth(command);
  expect(first).not.toBe("");
  expect(first).not.toBe(second);
});

test("a sandbox knows itself by its id, and resolves its own name", async () => {
  const names = await inBoth(
    "cat /etc/hostname; hostname; getent hosts $(hostname) >/dev/null && echo resolves",
  );
  for (const [index, { id }] of [one, two].entries()) {
    const name = id.replace("_", "-");
    expect(names[index]).toBe(`${name}\n${name}\nresolves`);
  }
});

test("a sandbox has the devices, folders and links that every init makes", async () => {
  const there = await outputOf(
    platform,
    one.id,
    `set -e
    bash -c 'diff <(echo a) <(echo a) && n=0 && while read -r x; do n=$((n+1)); done < <(seq 3) && echo $n'
    echo in | cat /dev/stdin | tee /dev/stderr 2>&1 >/dev/null
    echo out >/dev/stdout
    readlink /dev/fd /dev/stdin /dev/stdout /dev/stderr /dev/core /etc/mtab
    flock /var/lock/x stat -c '%a' /run/lock
    stat -f -c %T /dev/mqueue /dev/shm /run`,
  );
  expect(there.split("\n")).toEqual([
    ...["3", "in", "out"],
    ...["/proc/self/fd", "/proc/self/fd/0", "/proc/self/fd/1", "/proc/self/fd/2", "/proc/kcore"],
    ...["../proc/self/mounts", "1777", "mqueue", "tmpfs", "tmpfs"],
  ]);
});

test("a sandbox's machine id has the form that others expect", async () => {
  for (const id of await inBoth("cat /etc/machine-id")) expect(id).toMatch(/^[0-9a-f]{32}$/);
});

test("the clocks of both sandboxes agree with the host's within two seconds", async () => {
  for (const reading of await Promise.all([readClock(one), readClock(two)])) {
    expect(reading.guestMs).toBeGreaterThan(reading.hostBeforeMs - 2_000);
    expect(reading.guestMs).toBeLessThan(reading.hostAfterMs + 2_000);
  }
});

describe("a sandbox has no way to its host or its neighbours, also where it may go anywhere:", () => {
  test("it sees one link and only its own addresses", async () => {
    const [links] = await inBoth("ls /sys/class/net | tr '\\n' ' '");
    expect(links?.trim().split(" ").length).toBeLessThanOrEqual(2);
  });

  test("it reaches neither the API through its gateway, nor the host", async () => {
    const targets = [
      ["169.254.0.22", Number(new URL(platform.apiUrl).port)],
      ["169.254.0.22", 7070],
      ...machineAddresses().map((address) => [address, Number(new URL(platform.apiUrl).port)]),
    ];
    const tried = JSON.parse(await outputOf(platform, one.id, probe(targets))) as Record<string, string>;
    expect(Object.keys(tried).sort()).toEqual([...new Set(targets.map(String))].sort());
    for (const [target, result] of Object.entries(tried)) expect(result, target).toMatch(/^no/);
  });

  test("it does not reach a server in another sandbox, at any address of their links", async () => {
    const serve = "cd /tmp && setsid python3 -m http.server 8000 --bind 0.0.0.0 >/dev/null 2>&1 &";
    await outputOf(platform, two.id, serve);
    const waitForIt =
      "for i in $(seq 100); do python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 8000), 1)' && exit 0; sleep 0.2; done; exit 1";
    expect(
      (await execute(platform, two.id, { command: `(${waitForIt}) 2>/dev/null`, timeout: "2m" })).exit_code,
    ).toBe(0);
    const targets = [20, 21, 22, 23].map((last) => [`169.254.0.${last}`, 8000]);
    const tried = JSON.parse(await outputOf(platform, one.id, probe(targets))) as Record<string, string>;
    for (const [target, result] of Object.entries(tried)) expect(result, target).toMatch(/^no/);
    await outputOf(platform, two.id, "pkill -f http.serve[r]");
  });
});

describe("the process that runs a sandbox", () => {
  test("has a user of its own without any right, a filter on its system calls, and a namespace of its own", async () => {
    const [mine, other] = await Promise.all([confinementOf(one), confinementOf(two)]);
    for (const { uids, status, namespace } of [mine, other]) {
      expect(new Set(uids).size).toBe(1);
      expect(uids[0]).toBeGreaterThan(65_536);
      expect(status).toMatchObject({ Seccomp: "2", NoNewPrivs: "1", Groups: "" });
      for (const set of ["CapInh", "CapPrm", "CapEff", "CapAmb"]) expect(status[set]).toMatch(/^0+$/);
      expect(namespace).not.toBe(await readlink("/proc/self/ns/net"));
    }
    expect(mine.uids).not.toEqual(other.uids);
    expect(mine.namespace).not.toBe(other.namespace);
  });

  test("can read its template, but can write nothing that another sandbox wakes from", async () => {
    const { uids, args } = await confinementOf(one);
    const [uid = 0] = uids;
    const memory = /mem-path=([^,]+)/.exec(args.join("\0"))?.[1] ?? "";
    const [overlay] = args.filter((arg) => arg.startsWith("{")).map((arg) => JSON.parse(arg) as Layer);
    const disk = overlay?.backing?.file.filename ?? "";
    const image = overlay?.backing?.backing?.file.filename ?? "";
    for (const file of [memory, disk, image]) {
      expect(file).toMatch(/^\//);
      expect(await asUser(uid, 'head -c 1 "$0" >/dev/null', file), `read ${file}`).toBe(0);
      expect(await asUser(uid, ': >>"$0"', file), `write ${file}`).not.toBe(0);
      expect(await asUser(uid, 'mv "$0" "$0.away"', file), `move ${file}`).not.toBe(0);
    }
  });

  test("holds its disk, so that no other QEMU can write to it", async () => {
    const { folder } = await confinementOf(one);
    const disk = join(folder, "disk.qcow2");
    // As root: the folder of all VMs is closed to every other user.
    expect(await asUser(0, 'qemu-img info --force-share "$0" >/dev/null', disk)).toBe(0);
    expect(await asUser(0, 'qemu-img info "$0" >/dev/null', disk)).not.toBe(0);
  });

  test("cannot enter another sandbox's folder, read its disk, or speak to its sockets", async () => {
    const [{ uids }, other] = await Promise.all([confinementOf(one), confinementOf(two)]);
    const [uid = 0] = uids;
    const [otherUid = 0] = other.uids;
    const disk = join(other.folder, "disk.qcow2");
    // It is the other one's own, and yet no user enters the folder of all VMs: QEMU got it in its jail.
    expect((await stat(disk)).uid).toBe(otherUid);
    expect((await stat(disk)).mode & 0o077).toBe(0);
    expect(await asUser(otherUid, 'test -r "$0"', disk)).not.toBe(0);
    expect(await asUser(uid, 'ls "$0"', other.folder)).not.toBe(0);
    expect(await asUser(uid, 'cat "$0"', disk)).not.toBe(0);
    for (const name of ["disk.qcow2", "agent.sock", "qmp.sock", "vm.json", "qemu.log"]) {
      expect(await asUser(uid, 'test -w "$0"', join(other.folder, name)), `write ${name}`).not.toBe(0);
    }
    expect(await asUser(uid, ': >"$0"', join(other.folder, "planted"))).not.toBe(0);
    expect(await asUser(otherUid, ': >"$0"', join(other.folder, "planted"))).not.toBe(0);
    expect(await asUser(uid, 'ls "$0"', join(platform.state, "run/postgres"))).not.toBe(0);
    expect(await asUser(uid, 'test -w "$0"', join(platform.state, "run/host.sock"))).not.toBe(0);
  });
});

test("a sandbox counts time with the processor's counter or KVM's clock, which lose none on a busy machine", async () => {
  const source = "cat /sys/devices/system/clocksource/clocksource0/current_clocksource";
  for (const used of await inBoth(source)) expect(["tsc", "kvm-clock"]).toContain(used);
});

test("a sandbox's clock runs as fast as the host's: over half a minute it strays by less than 0.5 %", async () => {
  await sleep(Math.max(0, firstReading.hostAfterMs + 30_000 - now()));
  const last = await readClock(one);
  const guestMs = last.guestMs - firstReading.guestMs;
  // Somewhere between the two, however slow the calls were.
  const shortestMs = last.hostBeforeMs - firstReading.hostAfterMs;
  const longestMs = last.hostAfterMs - firstReading.hostBeforeMs;
  expect(guestMs).toBeGreaterThan(shortestMs * 0.995);
  expect(guestMs).toBeLessThan(longestMs * 1.005);
});

interface ClockReading {
  readonly hostBeforeMs: number;
  readonly guestMs: number;
  readonly hostAfterMs: number;
}

/** The host's clock without the jumps of anybody who sets it. */
function now(): number {
  return performance.timeOrigin + performance.now();
}

/** The guest's clock between two readings of the host's; of several, the one with the least time between them. */
async function readClock({ id }: Sandbox): Promise<ClockReading> {
  const readings: ClockReading[] = [];
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const hostBeforeMs = now();
    const guestMs = Number(await outputOf(platform, id, "date +%s.%N")) * 1_000;
    readings.push({ hostBeforeMs, guestMs, hostAfterMs: now() });
  }
  const width = (reading: ClockReading): number => reading.hostAfterMs - reading.hostBeforeMs;
  return readings.reduce((best, reading) => (width(reading) < width(best) ? reading : best));
}

/** Tries to connect to each, all at once, and prints what became of it as JSON. */
function probe(targets: readonly (readonly (string | number)[])[]): string {
  const script = [
    "import json, socket, sys, threading",
    "results = {}",
    "def connect(host, port):",
    "    try:",
    "        socket.create_connection((host, port), 3).close()",
    "        results[f'{host},{port}'] = 'connected'",
    "    except OSError as error:",
    "        results[f'{host},{port}'] = f'no: {error}'",
    "threads = [threading.Thread(target=connect, args=target) for target in json.loads(sys.argv[1])]",
    "[thread.start() for thread in threads]",
    "[thread.join() for thread in threads]",
    "print(json.dumps(results))",
  ].join("\n");
  return `python3 -c "${script}" '${JSON.stringify(targets)}'`;
}

interface Layer {
  readonly file: { readonly filename: string };
  readonly backing?: Layer;
}

interface Confinement {
  readonly uids: readonly number[];
  readonly status: Readonly<Record<string, string>>;
  readonly namespace: string;
  readonly args: readonly string[];
  readonly folder: string;
}

/** How the kernel sees the QEMU of a sandbox. */
async function confinementOf({ id }: Sandbox): Promise<Confinement> {
  const pid = await qemuPidOf(platform, id);
  const lines = (await readFile(`/proc/${pid}/status`, "utf8")).trim().split("\n");
  const status = Object.fromEntries(lines.map((line) => line.split(/:\s*/, 2).map((text) => text.trim())));
  return {
    uids: String(status["Uid"]).split(/\s+/).map(Number),
    status: status as Record<string, string>,
    namespace: await readlink(`/proc/${pid}/ns/net`),
    args: (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0"),
    folder: join(platform.state, "host/vms", id),
  };
}

/** Exit code of a shell command that runs as this user, in no group but its own. */
function asUser(uid: number, command: string, argument: string): Promise<number | null> {
  const ids = ["--reuid", String(uid), "--regid", String(uid), "--clear-groups", "--"];
  const child = spawn("setpriv", [...ids, "sh", "-c", command, argument], { stdio: "ignore", cwd: "/" });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
}
