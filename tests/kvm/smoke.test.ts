// A sandbox on KVM, from the verdict to its rest.

import { afterAll, beforeAll, expect, test } from "vitest";
import { qemuPidOf, type Platform } from "../support/platform.ts";
import { readFile } from "node:fs/promises";
import {
  clockErrorMs,
  create,
  hostsOf,
  outputOf,
  PATIENCE_MS,
  rests,
  startKvmPlatform,
} from "./kvm-platform.ts";

let platform: Platform;

beforeAll(async () => {
  platform = await startKvmPlatform();
}, 2 * PATIENCE_MS);

afterAll(async () => {
  await platform?.stop();
});

test("a host that has frozen and cloned a guest on KVM runs all its guests on it", async () => {
  expect((await hostsOf(platform)).map(({ accelerator }) => accelerator)).toEqual(["kvm"]);
});

test("a sandbox on KVM runs commands, keeps files, passes no packet that its policy refuses, rests, and has the right time after it", async () => {
  await using sandbox = await create(platform, { mode: "deny_all" });
  const source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
  expect(await outputOf(sandbox, `cat ${source}`)).toBe("kvm-clock");
  expect((await sandbox.execute("exit 3", { timeout: "4m" })).exit_code).toBe(3);

  const content = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * 7) % 251));
  await sandbox.upload("/root/blob", content);
  expect(Buffer.from(await sandbox.download("/root/blob")).equals(content)).toBe(true);

  const refused = await sandbox.execute("bash -c 'exec 3<>/dev/tcp/203.0.113.9/80'", { timeout: "4m" });
  expect(refused.exit_code).not.toBe(0);
  const { denied } = await sandbox.egress();
  expect(denied).toContainEqual(expect.objectContaining({ address: "203.0.113.9", rule: "deny_all" }));

  await rests(platform, sandbox.id);
  expect(await clockErrorMs(sandbox)).toBeLessThan(2_000);
  expect(await outputOf(sandbox, "wc -c < /root/blob")).toBe("200000");

  const status = await readFile(`/proc/${await qemuPidOf(platform, sandbox.id)}/status`, "utf8");
  expect(status).toMatch(/^Seccomp:\t2$/m);
  expect(status).toMatch(/^Uid:\t[1-9]/m);
});
