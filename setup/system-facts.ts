// Prints as JSON what a trial is recorded with: the system it runs on, and the versions of what Skerry uses there.

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { release } from "node:os";
import { join } from "node:path";
import { systemOf, type SystemTrial } from "../packages/contract/src/platform/supported-systems.ts";

export type SystemFacts = Pick<SystemTrial, "system" | "qemu" | "versions">;

function firstLine(program: string, ...args: readonly string[]): string {
  const { stdout } = spawnSync(program, args, { encoding: "utf8" });
  return stdout.split("\n")[0] ?? "";
}

/** `2.36` of `ldd (Debian GLIBC 2.36-9) 2.36` */
function version(program: string, ...args: readonly string[]): string {
  return /(\d+(\.\d+)+)\)?\s*$/.exec(firstLine(program, ...args))?.[1] ?? "unknown";
}

function postgres(): string {
  const folder = "/usr/lib/postgresql";
  const newest = readdirSync(folder).toSorted((a, b) => Number(b) - Number(a))[0] ?? "";
  return /\d+(\.\d+)+/.exec(firstLine(join(folder, newest, "bin/postgres"), "--version"))?.[0] ?? "unknown";
}

const facts: SystemFacts = {
  system: systemOf(readFileSync("/etc/os-release", "utf8")),
  qemu: firstLine("qemu-system-x86_64", "--version").replace("QEMU emulator version ", ""),
  versions: {
    Linux: release(),
    libc: version("ldd", "--version"),
    gcc: version("gcc", "--version"),
    PostgreSQL: postgres(),
    Node: process.versions.node,
    nftables: /\d+(\.\d+)+/.exec(firstLine("nft", "--version"))?.[0] ?? "unknown",
  },
};
process.stdout.write(`${JSON.stringify(facts)}\n`);
