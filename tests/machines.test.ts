// Machines as their owner sees them, on real microVMs: what keeps running, what is started again, and what is kept. What a host promises of
// them by itself is in `machine-host.test.ts`.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Machine } from "../packages/sdk/src/skerry.ts";
import { namespacesInUse, qemuProcesses } from "./support/leftovers.ts";
import {
  eagerServices,
  nothingWaits,
  qemuPidOf,
  serverPid,
  skerry,
  startPlatform,
  until,
  type Platform,
} from "./support/platform.ts";

let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform({ assets: inject("assets"), env: { ...eagerServices, ...nothingWaits } });
});
afterAll(() => platform.stop());

const machines = () => platform.client.machines;

async function reached(id: string, what: string, holds: (machine: Machine) => boolean): Promise<Machine> {
  await until(what, async () =>
    holds(
      await machines()
        .get(id)
        .catch(() => machines().get(id)),
    ),
  );
  return machines().get(id);
}

const isRestarted = (times: number) => (machine: Machine) =>
  machine.status === "running" && machine.restarts === times;

async function stdout(id: string, command: string): Promise<string> {
  return (await machines().execute(id, command)).stdout;
}

async function nothingRuns(): Promise<void> {
  await until(
    "nothing runs any more",
    async () => (await qemuProcesses(`${platform.instance}:mch`)).length === 0,
  );
  expect((await qemuProcesses(platform.instance)).filter(({ vm }) => vm.startsWith("mch_"))).toEqual([]);
}

test("a machine runs its command, and is stopped, started and restarted from its own disk", async () => {
  const { id } = await machines().create({
    template: "base",
    command: 'trap "echo bye; exit 0" TERM; echo "$GREETING from $(hostname)"; while :; do sleep 0.1; done',
    env: { GREETING: "hello" },
  });
  const hostname = id.replace("_", "-");
  await until("it has said hello", async () => (await machines().logs(id)).length > 0);
  expect(await machines().logs(id)).toEqual([`hello from ${hostname}`]);
  await machines().upload(id, "/srv/kept", "kept");

  const stopped = await machines().stop(id);
  expect(stopped).toMatchObject({
    status: "stopped",
    desired: "stopped",
    reason: "stopped by request",
    exit_code: 0,
  });
  await nothingRuns();
  const refused = machines().execute(id, "true");
  await expect(refused).rejects.toMatchObject({ code: "machine_not_running", status: 409 });

  const heard: string[] = [];
  const follow = (async () => {
    for await (const line of machines().followLogs(id, { lines: 1 })) heard.push(line);
  })();
  expect((await machines().start(id)).status).toBe("running");
  expect(await stdout(id, "cat /srv/kept; hostname")).toBe(`kept${hostname}\n`);
  expect(await machines().restart(id)).toMatchObject({ status: "running", restarts: 0 });
  await until("it has said hello three times", async () => {
    const lines = await machines().logs(id);
    return lines.filter((line) => line.startsWith("hello")).length === 3;
  });
  const greetings = () => heard.filter((line) => line === `hello from ${hostname}`).length;
  await until("whoever follows has heard the last one", async () => greetings() === 2);
  await machines().destroy(id);
  await follow;
  expect(greetings()).toBe(2);
  expect((await machines().get(id)).status).toBe("destroyed");
  await nothingRuns();
});

test("a machine that was changed runs with its new environment, command and size after its restart, on its disk", async () => {
  const { id } = await machines().create({
    template: "base",
    command: 'echo "$GREETING"; exec sleep 100000',
    env: { GREETING: "hello", OLD: "1" },
  });
  await machines().execute(id, "echo kept > /root/kept; sync");
  const waiting = await machines().update(id, {
    command: 'echo "$GREETING again"; exec sleep 100000',
    env: { GREETING: "goodbye", OLD: null },
    size: "shared-cpu-2x",
  });
  expect(waiting).toMatchObject({ size: "shared-cpu-1x", pending: { size: "shared-cpu-2x" } });
  expect(await stdout(id, "nproc")).toBe("1\n");
  const changed = await machines().update(id, { restart_now: true });
  expect(changed).toMatchObject({ status: "running", size: "shared-cpu-2x", pending: null });
  expect(await stdout(id, 'cat /root/kept; nproc; echo "$GREETING ${OLD-none}"')).toBe(
    "kept\n2\ngoodbye none\n",
  );
  await until("the new command has printed", async () =>
    (await machines().logs(id)).includes("goodbye again"),
  );
  await machines().destroy(id);
});

test("a health check that fails is told, and with `restart` the machine is started again until it passes", async () => {
  const { id, health } = await machines().create({
    template: "base",
    command: "test -e /root/second && touch /root/well; touch /root/second; exec sleep 100000",
    check: { command: "test -e /root/well", interval: "1s", failures: 2, grace: "0s" },
  });
  expect(health).toMatchObject({ status: "unknown" });
  const failing = await reached(id, "its check fails", (machine) => machine.health?.status === "failing");
  expect(failing).toMatchObject({ status: "running", restarts: 0 });
  expect(failing.health?.reason).toBe("the command exited with 1");
  await machines().update(id, {
    check: { command: "test -e /root/well", interval: "1s", failures: 2, grace: "0s", restart: true },
  });
  const passing = await reached(id, "it runs again and passes", (now) => now.health?.status === "passing");
  expect(passing).toMatchObject({ status: "running", restarts: 1 });
  expect((await machines().restarts(id)).items).toMatchObject([{ cause: "check_failed" }]);
  // Nothing listens there; then something does.
  await machines().update(id, { check: { path: "/", port: 8080, interval: "1s", failures: 1, grace: "0s" } });
  const refused = await reached(id, "the port is closed", (now) => now.health?.status === "failing");
  expect(refused.health?.reason).toBe("nothing listens on the port");
  await machines().execute(
    id,
    "cd /srv && setsid python3 -m http.server 8080 > /tmp/http.log 2>&1 < /dev/null &",
  );
  await reached(id, "the port answers", (now) => now.health?.status === "passing");
  await machines().destroy(id);
});

test("a machine whose QEMU is killed runs again by itself, with its disk", async () => {
  const { id } = await machines().create({ template: "base", command: "exec sleep 100000" });
  await machines().execute(id, "echo kept > /root/kept; sync");
  process.kill(await qemuPidOf(platform, id), "SIGKILL");
  const again = await reached(id, "it runs again", isRestarted(1));
  expect(again).toMatchObject({ reason: null, restart_at: null });
  expect(await stdout(id, "cat /root/kept")).toBe("kept\n");
  await machines().destroy(id);
});

const endings: readonly (readonly [what: string, command: string, expected: Partial<Machine>])[] = [
  [
    "has done its work",
    "true",
    { status: "stopped", exit_code: 0, reason: "the main process exited with 0" },
  ],
  ["fails", "exit 3", { status: "failed", exit_code: 3, reason: "the main process exited with 3" }],
  [
    "runs out of memory",
    "python3 -c 'x = []\nwhile True: x.append(bytearray(10 ** 6))'; exit $?",
    { status: "failed", reason: expect.stringContaining("out of memory") as unknown as string },
  ],
  ["panics", "echo c > /proc/sysrq-trigger", { status: "failed", reason: "the guest's kernel panicked" }],
];

test("the reason of a machine that ends says which end it was, and nothing of it runs on", async () => {
  const ended = await Promise.all(
    endings.map(async ([what, command, expected]) => {
      const { id } = await machines().create({
        template: "base",
        command: `sleep 1; ${command}`,
        restart: { policy: "no" },
      });
      const machine = await reached(id, `a machine ${what}`, ({ status }) => status !== "running");
      expect(machine, what).toMatchObject({ ...expected, restart_at: null });
      return id;
    }),
  );
  await nothingRuns();
  for (const id of ended) await machines().destroy(id);
});

test("a machine that cannot run is given up after its retries", async () => {
  const { id } = await machines().create({
    template: "base",
    command: "exit 1",
    restart: { policy: "always", max_retries: 1 },
  });
  const { reason } = await reached(
    id,
    "it is given up",
    (machine) => machine.reason?.includes("not started again") === true,
  );
  expect(reason).toBe(
    "the main process exited with 1; it is not started again: it was started once without running for 10m",
  );
  expect(await machines().get(id)).toMatchObject({ status: "failed", restarts: 1, restart_at: null });
  const ended = { cause: "main_exited", exit_code: 1, signal: null, out_of_memory: false };
  expect((await machines().restarts(id)).items).toMatchObject([
    { ...ended, reason, restarted_at: null },
    { ...ended, restarted_at: expect.any(String) as string },
  ]);
  await machines().destroy(id);
});

test("machines outlive kill -9 of every process of ours, and a wish that control died with is carried out", async () => {
  const { id } = await machines().create({
    template: "base",
    command: "exec sleep 100000",
    stop_timeout: "1s",
  });
  await machines().execute(id, "echo here > /tmp/here");
  for (const server of ["control", "host", "supervisor"] as const) {
    process.kill(await serverPid(platform, server), "SIGKILL");
    if (server === "supervisor") await skerry(platform.env, "up");
    await until(`the machine answers after ${server} was killed`, async () =>
      machines()
        .execute(id, "cat /tmp/here")
        .then(
          (run) => run.stdout === "here\n",
          () => false,
        ),
    );
  }
  const stop = machines()
    .stop(id)
    .catch(() => undefined);
  await until("it stops", async () => (await machines().get(id)).status !== "running");
  process.kill(await serverPid(platform, "control"), "SIGKILL");
  await stop;
  await until("it has stopped", async () =>
    machines()
      .get(id)
      .then(
        ({ status }) => status === "stopped",
        () => false,
      ),
  );
  const start = machines()
    .start(id)
    .catch(() => undefined);
  await until("it starts", async () => (await machines().get(id)).status !== "stopped");
  process.kill(await serverPid(platform, "control"), "SIGKILL");
  await start;
  await until("it runs", async () =>
    machines()
      .get(id)
      .then(
        ({ status }) => status === "running",
        () => false,
      ),
  );
  expect((await qemuProcesses(platform.instance)).filter(({ vm }) => vm === id)).toHaveLength(1);
  await machines().destroy(id);
});

test("after `skerry down` and `up` a machine is back with its disk, one that was stopped stays stopped, a paused sandbox goes on, and one that ran says why it ended", async () => {
  const running = await machines().create({ template: "base", command: "exec sleep 100000" });
  const stopped = await machines().create({ template: "base" });
  await machines().execute(running.id, "echo kept > /root/kept");
  await machines().stop(stopped.id);
  const paused = await platform.client.sandboxes.create({ template: "base", mode: "persistent" });
  await paused.execute("echo kept > /root/kept; sleep 100000 & echo $! > /root/pid");
  await paused.pause();
  const ran = await platform.client.sandboxes.create({ template: "base" });
  expect(await skerry(platform.env, "down")).toContain("1 running sandbox ends. Paused ones stay;");
  await nothingRuns();
  await skerry(platform.env, "up");
  await reached(running.id, "it runs again", isRestarted(1));
  expect(await stdout(running.id, "cat /root/kept")).toBe("kept\n");
  expect((await machines().get(stopped.id)).status).toBe("stopped");
  const resumed = await paused.execute("cat /root/kept; kill -0 $(cat /root/pid) && echo runs");
  expect(resumed.stdout).toBe("kept\nruns\n");
  await until("control has heard of the end", async () => (await ran.refresh()).info.status === "failed");
  expect(ran.info.reason).toBe("the microVM ended: its host was taken down");
  await until(
    "nothing is left of it on the host",
    async () => !(await readdir(join(platform.state, "host/vms"))).includes(ran.id),
  );
  await paused.destroy();
  for (const { id } of [running, stopped]) await machines().destroy(id);
  await until(
    "every namespace is given back",
    async () => (await namespacesInUse(`${platform.instance}-`)).length === 0,
  );
});
