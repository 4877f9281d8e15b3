import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { firstThatRunsGuests, ProbeFailure } from "../src/vm/start/probe-guest.ts";
import { editionOf, hasSandbox, smallerQemu } from "../src/vm/qemu/smaller-qemu.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-smaller-");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A program that prints this version, and knows `-sandbox` or does not. */
async function qemu(name: string, version: string, knowsSandbox = true): Promise<string> {
  const refuse = knowsSandbox ? "" : `case "$1" in -sandbox) exit 1;; esac; `;
  const file = join(folder, name);
  await writeFile(file, `#!/bin/sh\n${refuse}echo "QEMU emulator version ${version}"\n`, { mode: 0o755 });
  return file;
}

test("the smaller QEMU is taken where it is there in the same version", async () => {
  const full = await qemu("qemu", "10.0.2 (Debian 1:10.0.2)");
  expect(await smallerQemu(full)).toBeUndefined();
  await qemu("qemu-microvm", "10.0.2 (Debian 1:10.0.2)");
  expect(await smallerQemu(full)).toBe(`${full}-microvm`);
  await qemu("qemu-microvm", "9.0.0");
  expect(await smallerQemu(full)).toBeUndefined();
});

test("what the two have saved is told apart by their version", () => {
  expect(editionOf("/usr/bin/qemu-system-x86_64")).toBe("");
  expect(editionOf("/usr/bin/qemu-system-x86_64-microvm")).toBe(" microvm");
});

test("a QEMU without a filter of its own is recognized by what it answers", async () => {
  expect(await hasSandbox(await qemu("with", "10.0.2"))).toBe(true);
  expect(await hasSandbox(await qemu("without", "7.2.22", false))).toBe(false);
});

test("a QEMU that does not come up gives way to the full one, and KVM that runs no guest to none", async () => {
  const tried: string[] = [];
  const probe =
    (failure: ProbeFailure) =>
    async (qemu: string): Promise<void> => {
      tried.push(qemu);
      if (qemu === "small") throw failure;
    };
  const broken = new ProbeFailure("start", new Error("cannot allocate memory"), "");
  expect(await firstThatRunsGuests(["small", "full"], probe(broken))).toBe("full");
  expect(tried.splice(0)).toEqual(["small", "full"]);
  const hung = new ProbeFailure("boot", new Error("no hello"), "");
  await expect(firstThatRunsGuests(["small", "full"], probe(hung))).rejects.toBe(hung);
  expect(tried.splice(0)).toEqual(["small"]);
  await expect(firstThatRunsGuests(["small"], probe(broken))).rejects.toBe(broken);
});
