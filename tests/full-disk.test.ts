// A host whose disk is full while a sandbox is paused, or a snapshot of one is taken: the answer says so, the sandbox goes on, and nothing is lost.
// Files run out here, and not bytes: of those a host keeps a reserve that no test can use up.

import { execFile } from "node:child_process";
import { readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { ErrorBody } from "@skerry/contract/errors";
import type { Vm, VmSpec } from "@skerry/contract/host-api/vm";
import { LoneHost } from "./support/lone-host.ts";
import { nothingWaits } from "./support/platform.ts";

const run = promisify(execFile);

let host: LoneHost;
let state: string;
let isMounted = false;

beforeAll(async () => {
  host = await LoneHost.open(inject("assets"), nothingWaits);
  await host.end("SIGTERM");
  state = join(host.folder, "host");
  await run("mount", ["-t", "tmpfs", "-o", "size=8g,nr_inodes=2000,mode=0711", "tmpfs", state]);
  isMounted = true;
  await host.start();
  await mkdir(join(state, "fill"));
});
afterAll(async () => {
  await host.takeDown();
  if (isMounted) await run("umount", ["--lazy", state]);
  await host.close();
});

/** Leaves room for so many files. */
function leave(files: number): void {
  const fill = join(state, "fill");
  for (const name of readdirSync(fill)) rmSync(join(fill, name));
  for (let at = 0; statfsSync(state).ffree > files; at += 1) writeFileSync(join(fill, String(at)), "");
}

/** With room enough. */
async function start(id: string, execution_id: string, from?: VmSpec["from"]): Promise<void> {
  const spec: VmSpec = {
    ...{ execution_id, template: "base", size: "shared-cpu-1x", hostname: "x", env: {}, egress_version: 1 },
    egress: { mode: "deny_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: false },
    ...(from === undefined ? {} : { from }),
  };
  leave(1_000);
  const answer = await host.call<Vm | ErrorBody>("PUT", `/vms/${id}`, spec);
  expect(answer).toMatchObject({ status: 200, body: { status: "running" } });
}

/** On memory and on the disk of the guest. */
const WRITE = "mount -t tmpfs none /mnt && head -c 2000000 /dev/urandom | tee /mnt/kept > /root/kept; sync";
const READ = "sha256sum < /mnt/kept; sha256sum < /root/kept";

/** With room for more files each time, until it succeeds. Resolves with how often it was refused. */
async function refusals(call: () => Promise<{ status: number; body: unknown }>, vm: () => Promise<unknown>) {
  for (let files = 0; ; files += 1) {
    leave(files);
    const answer = await call();
    if (answer.status === 200) return files;
    expect(answer.body, `room for ${files} files`).toMatchObject({ code: "disk_full" });
    await vm();
  }
}

test("a snapshot for which there is no room is refused, and its sandbox goes on", async () => {
  await start("sbx_snapshot", "exe_1");
  const sh = (command: string) => host.execute("sbx_snapshot", "exe_1", command);
  await sh(WRITE);
  const before = await sh(READ);
  const order = { execution_id: "exe_1", snapshot_id: `snp_${"0".repeat(26)}` };
  const refused = await refusals(
    () => host.call("POST", "/vms/sbx_snapshot/snapshots", order),
    async () => expect(await sh(READ)).toBe(before),
  );
  expect(refused).toBeGreaterThan(2);
  expect(await sh(READ)).toBe(before);
  // Of those that were refused nothing is left.
  expect(readdirSync(join(state, "snapshots"))).toEqual([order.snapshot_id]);
});

test("a pause for which there is no room is refused, its sandbox goes on, and a later one loses nothing", async () => {
  await start("sbx_pause", "exe_2");
  const sh = (command: string, execution = "exe_2") => host.execute("sbx_pause", execution, command);
  await sh(WRITE);
  const before = await sh(READ);
  const refused = await refusals(
    () => host.call("POST", "/vms/sbx_pause/pause", { execution_id: "exe_2" }),
    async () => expect(await sh(READ)).toBe(before),
  );
  expect(refused).toBeGreaterThan(1);
  await start("sbx_pause", "exe_3", { kind: "paused" });
  expect(await sh(READ, "exe_3")).toBe(before);
});
