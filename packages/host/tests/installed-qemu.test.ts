import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  compatibilityOf,
  InstalledQemu,
  versionOf,
  type QemuQuestions,
} from "../src/vm/qemu/installed-qemu.ts";

let folder: string;
let program: string;
beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-qemu-");
  program = join(folder, "qemu-system-x86_64");
  await install("7.2.22");
});
afterEach(() => rm(folder, { recursive: true }));

/** As a package manager does it: the new file takes the place of the old one. */
async function install(version: string): Promise<void> {
  await writeFile(`${program}.new`, `#!/bin/sh\necho "QEMU emulator version ${version} (Debian)"\n`, {
    mode: 0o755,
  });
  await rename(`${program}.new`, program);
}

const cpu = { model: "emulated", revision: "" };

/** Counts how often the program was asked. */
function questions(of: Partial<QemuQuestions> = {}): QemuQuestions & { asked: number } {
  const counted: QemuQuestions & { asked: number } = {
    asked: 0,
    version: async () => {
      counted.asked += 1;
      return `7.2.${counted.asked}`;
    },
    cpu: async () => cpu,
    tscKhz: async () => 2_000_000,
    ...of,
  };
  return counted;
}

test("QEMU's version is read from what it prints", () => {
  const printed = "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)\nCopyright (c) 2003-2022\n";
  expect(versionOf(printed)).toBe("7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)");
  expect(versionOf("something else\n")).toBe("something else");
});

test("a QEMU that is upgraded while the host runs is asked again, and one that stays is not", async () => {
  const qemu = await InstalledQemu.open(program, "tcg");
  const before = await qemu.current();
  expect(before).toMatchObject({ version: "7.2.22 (Debian)", accelerator: "tcg" });
  expect(await qemu.current()).toBe(before);
  await install("7.2.23");
  expect(await qemu.current()).toMatchObject({ version: "7.2.23 (Debian)" });
});

test("many starts at once ask once", async () => {
  const asked = questions();
  const qemu = await InstalledQemu.open(program, "kvm", asked);
  await install("7.2.23");
  const builds = await Promise.all(Array.from({ length: 20 }, () => qemu.current()));
  expect(new Set(builds.map(({ version }) => version))).toEqual(new Set(["7.2.2"]));
  expect(asked.asked).toBe(2);
});

test("in the middle of an upgrade nothing is started, and afterwards it goes on", async () => {
  let isBroken = false;
  const asked = questions({ cpu: async () => (isBroken ? Promise.reject(new Error("no library")) : cpu) });
  const qemu = await InstalledQemu.open(program, "kvm", asked);
  await rm(program);
  await expect(qemu.current()).rejects.toThrow("ENOENT");
  isBroken = true;
  await install("10.0.2");
  await expect(qemu.current()).rejects.toThrow("no library");
  isBroken = false;
  expect(compatibilityOf(await qemu.current())).toEqual({
    accelerator: "kvm",
    qemu_version: "7.2.3",
    cpu: "emulated",
    tsc_khz: 2_000_000,
  });
});
