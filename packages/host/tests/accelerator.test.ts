import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { chooseAccelerator, KVM_DEVICE, stillHolds } from "../src/vm/qemu/accelerator.ts";

const MINUTE_MS = 60_000;
const no = { accelerator: "tcg", reason: "it was busy" } as const;
const yes = { accelerator: "kvm", reason: "a guest booted" } as const;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-accelerator-");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("a machine that cannot use KVM is asked again after some minutes, one that can is not", () => {
  expect(stillHolds({ verdict: no, at_ms: 0 }, 9 * MINUTE_MS)).toBe(true);
  expect(stillHolds({ verdict: no, at_ms: 0 }, 11 * MINUTE_MS)).toBe(false);
  expect(stillHolds({ verdict: no, at_ms: 20 * MINUTE_MS }, 0)).toBe(false);
  expect(stillHolds({ verdict: no }, 0)).toBe(false);
  expect(stillHolds({ verdict: yes }, 1e15)).toBe(true);
});

test("where QEMU fails the reason has its last words, and the verdict is kept with its time", async () => {
  const qemu = join(folder, "qemu");
  await writeFile(
    qemu,
    "#!/bin/sh\necho 'first' >&2\necho 'Could not access KVM kernel module' >&2\nexit 1\n",
    {
      mode: 0o755,
    },
  );
  const files = { kernel: "/none", initramfs: "/none" };
  const versions = { qemuVersion: "10.0.2", kernelVersion: "6.1" };
  const verdict = await chooseAccelerator({ qemu, ...versions, ...files, folder });
  const hasDevice = await stat(KVM_DEVICE).then(
    () => true,
    () => false,
  );
  expect(verdict.accelerator).toBe("tcg");
  expect(verdict.reason).toContain(
    hasDevice ? "QEMU ended with 1 (Could not access KVM kernel module)" : "does not exist",
  );
  if (hasDevice)
    expect(JSON.parse(await readFile(join(folder, "accelerator.json"), "utf8"))).toMatchObject({
      verdict,
      at_ms: expect.any(Number) as number,
    });
});
