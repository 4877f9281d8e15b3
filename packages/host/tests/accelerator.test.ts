import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { chooseAccelerator, KVM_DEVICE, stillHolds } from "../src/vm/qemu/accelerator.ts";

const MINUTE_MS = 60_000;
const no = { accelerator: "tcg", reason: "it was busy" } as const;
const yes = { accelerator: "kvm", reason: "a guest booted" } as const;

let folder: string;
let probes: number;
let failure: Error | undefined;
beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-accelerator-");
  probes = 0;
  failure = undefined;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function choose(changes: Partial<{ qemuVersion: string; boot: string }> = {}) {
  const probe = async (): Promise<string> => {
    probes += 1;
    if (failure !== undefined) throw failure;
    return "/usr/bin/qemu-microvm";
  };
  return chooseAccelerator({ qemuVersion: "10.0.2", boot: "a1b2", folder, probe, ...changes });
}

const hasDevice = await stat(KVM_DEVICE).then(
  () => true,
  () => false,
);

test("a machine that cannot use KVM is asked again after some minutes, one that can is not", () => {
  expect(stillHolds({ verdict: no, at_ms: 0 }, 9 * MINUTE_MS)).toBe(true);
  expect(stillHolds({ verdict: no, at_ms: 0 }, 11 * MINUTE_MS)).toBe(false);
  expect(stillHolds({ verdict: no, at_ms: 20 * MINUTE_MS }, 0)).toBe(false);
  expect(stillHolds({ verdict: no }, 0)).toBe(false);
  expect(stillHolds({ verdict: yes }, 1e15)).toBe(true);
});

test("where no guest runs on KVM the reason has what failed, and the verdict is kept with its time", async () => {
  failure = new Error("no guest ran on it: QEMU did not start: Device or resource busy");
  const verdict = await choose();
  expect(verdict.accelerator).toBe("tcg");
  if (!hasDevice) {
    expect(verdict.reason).toContain("does not exist");
    expect(probes).toBe(0);
    return;
  }
  expect(verdict.reason).toBe(
    `${KVM_DEVICE} is there but ${failure.message}; the CPU is emulated, for development only`,
  );
  expect(JSON.parse(await readFile(join(folder, "accelerator.json"), "utf8"))).toMatchObject({
    verdict,
    at_ms: expect.any(Number) as number,
  });
});

test("a guest is tried once, and again when kernel, agent or QEMU have changed", async () => {
  if (!hasDevice) {
    expect((await choose()).accelerator).toBe("tcg");
    return;
  }
  const verdict = await choose();
  expect(verdict).toEqual({
    ...{ accelerator: "kvm", reason: `a guest was frozen and cloned on ${KVM_DEVICE}` },
    qemu: "/usr/bin/qemu-microvm",
  });
  expect(await choose()).toEqual(verdict);
  expect(probes).toBe(1);
  await choose({ boot: "c3d4" });
  expect(probes).toBe(2);
  await choose({ boot: "c3d4", qemuVersion: "10.0.3" });
  expect(probes).toBe(3);
});
