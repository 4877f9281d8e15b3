// Pauses and snapshots of guests on KVM. Asked as control asks.

import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { HostSnapshot, VmOrigin } from "@skerry/contract/host-api/snapshots";
import type { VmSpec } from "@skerry/contract/host-api/vm";
import { qemuProcesses } from "../support/leftovers.ts";
import { LoneHost } from "../support/lone-host.ts";
import { until } from "../support/platform.ts";
import { kvmSettings, PATIENCE_MS } from "./kvm-platform.ts";

/** Of one command: the guest's kernel may be interpreted. */
const TIMEOUT_MS = 240_000;

let host: LoneHost;
let starts = 0;

beforeAll(async () => {
  host = await LoneHost.open(inject("kvmAssets"), { SKERRY_WARM_MAX: "0", ...kvmSettings() });
}, 2 * PATIENCE_MS);

afterAll(() => host?.close());

async function start(id: string, from?: VmOrigin) {
  const executionId = `exe_${(starts += 1)}`;
  const spec: VmSpec = {
    ...{ execution_id: executionId, template: "base", size: "shared-cpu-1x", hostname: "guest" },
    ...{ env: {}, egress_version: 1 },
    egress: { mode: "deny_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: false },
    ...(from === undefined ? {} : { from }),
  };
  const answer = await host.call("PUT", `/vms/${id}`, spec);
  expect(answer).toMatchObject({ status: 200, body: { status: "running" } });
  return { id, executionId, run: (command: string) => host.execute(id, executionId, command, TIMEOUT_MS) };
}

test("a guest on KVM is paused and goes on, and forks of it go on from where it was", async () => {
  let guest = await start("sbx_kvm");
  await guest.run(`perl -e 'print "held" x 20000' > /dev/shm/held; sha256sum /dev/shm/held > /dev/shm/sum`);
  const counting =
    "$n = 0; while (1) { open($f, '>', '/dev/shm/count.new'); print $f ++$n; close $f; rename '/dev/shm/count.new', '/dev/shm/count'; select undef, undef, undef, 0.2 }";
  await guest.run(`perl -e "${counting.replaceAll("$", "\\$")}" >/dev/null 2>&1 </dev/null & echo`);
  const count = async (): Promise<number> =>
    Number(await guest.run("cat /dev/shm/count 2>/dev/null || echo 0"));
  await until("it counts", async () => (await count()) > 0, PATIENCE_MS);

  const before = await count();
  const paused = await host.call("POST", "/vms/sbx_kvm/pause", { execution_id: guest.executionId });
  expect(paused).toMatchObject({ status: 200, body: { status: "paused" } });
  expect(await qemuProcesses(host.instance)).toEqual([]);
  guest = await start("sbx_kvm", { kind: "paused" });
  await until("it goes on counting", async () => (await count()) > before + 5, PATIENCE_MS);
  expect(await guest.run("sha256sum -c --quiet /dev/shm/sum && echo whole")).toBe("whole\n");

  const taken = await host.call<HostSnapshot>("POST", "/vms/sbx_kvm/snapshots", {
    ...{ execution_id: guest.executionId, snapshot_id: `snp_${"0".repeat(26)}` },
  });
  expect(taken).toMatchObject({ status: 200, body: { runs_on: { accelerator: "kvm" } } });
  const then = await count();
  const fork = await start("sbx_fork", { kind: "snapshot", snapshot_id: taken.body.id });
  expect(await fork.run("sha256sum -c --quiet /dev/shm/sum && echo whole")).toBe("whole\n");
  const uuid = "cat /proc/sys/kernel/random/uuid";
  expect(await fork.run(uuid)).not.toBe(await guest.run(uuid));
  await until("the origin goes on counting", async () => (await count()) > then, PATIENCE_MS);
  const inFork = async (): Promise<number> => Number(await fork.run("cat /dev/shm/count"));
  await until("the fork goes on counting", async () => (await inFork()) > then, PATIENCE_MS);
});
