// A host answers when it has taken a clone, and wakes it then. Whoever was answered has a VM, whenever after that its host is killed.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { EgressReport } from "@skerry/contract/vms/egress";
import type { HostInfo } from "@skerry/contract/host-api/host-info";
import type { Vm, VmSpec } from "@skerry/contract/host-api/vm";
import { LoneHost, type Answer } from "./support/lone-host.ts";
import { until } from "./support/platform.ts";
import { sampled } from "./support/sampling.ts";

const AT_ONCE = 3;
/** From the answer to about the end of the waking, on this and on faster machines. */
const delaysMs = { early: [0, 1, 2, 3], middle: [5, 7, 9], late: [12, 15, 20] };
const tried = Object.entries(delaysMs).flatMap(([part, all]) => sampled(`waking ${part}`, all));

let host: LoneHost;

beforeAll(async () => {
  host = await LoneHost.open(inject("assets"), { SKERRY_WARM_MIN: String(AT_ONCE) });
});
afterAll(() => host.close());

const hasSecrets = (id: string): boolean => id.endsWith("x1");

function specOf(id: string): VmSpec {
  return {
    ...{ execution_id: "exe_1", template: "base", size: "shared-cpu-1x", hostname: id.replace("_", "-") },
    ...{ env: { TOKEN: `secret-${id}` }, egress_version: 1 },
    ...(hasSecrets(id) && { secrets: { KEY: `sealed-${id}` } }),
    egress: { mode: "deny_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [443], dns: false },
  };
}

async function clonesWait(): Promise<void> {
  await until("clones wait", async () => {
    const { usage } = (await host.call<HostInfo>("GET", "/info")).body;
    return (usage?.warm_pool.waiting ?? 0) >= AT_ONCE;
  });
}

async function expectUsable(id: string): Promise<void> {
  expect(await host.execute(id, "exe_1", "hostname; cat /etc/hostname; echo $TOKEN; echo $KEY")).toBe(
    `${specOf(id).hostname}\n${specOf(id).hostname}\nsecret-${id}\n${hasSecrets(id) ? `sealed-${id}` : ""}\n`,
  );
  await host.execute(
    id,
    "exe_1",
    "python3 -c 'import socket; socket.create_connection((\"203.0.113.9\", 80), 2)' || true",
  );
  const { body } = await host.call<EgressReport>("GET", `/vms/${id}/egress?execution_id=exe_1`);
  expect(body).toMatchObject({ mode: "deny_all", allow_ports: [443] });
  expect(body.denied).toContainEqual(expect.objectContaining({ address: "203.0.113.9", rule: "deny_all" }));
  expect(await recordOf(id)).not.toContain("secret");
}

const recordOf = (id: string): Promise<string> =>
  readFile(join(host.folder, "host/vms", id, "vm.json"), "utf8");

test.each(tried)("of VMs whose host is killed %i ms after an answer none is lost", async (delayMs) => {
  await clonesWait();
  const ids = Array.from({ length: AT_ONCE }, (_, index) => `sbx_${delayMs}x${index}`);
  const answered = new Map<string, Answer<Vm>>();
  const asked = ids.map(async (id) => answered.set(id, await host.call("PUT", `/vms/${id}`, specOf(id))));
  const settled = Promise.allSettled(asked);
  await Promise.race(asked);
  if (delayMs > 0) await sleep(delayMs);
  await host.end("SIGKILL");
  await settled;
  expect([...answered.values()].map(({ status }) => status)).toEqual(Array(answered.size).fill(200));
  expect(answered.size).toBeGreaterThan(0);
  for (const id of ids) expect(await recordOf(id).catch(() => "")).not.toContain("sealed-");
  await host.start();
  for (const id of answered.keys()) await expectUsable(id);
  for (const id of ids) await host.call("DELETE", `/vms/${id}?execution_id=exe_1`);
});
