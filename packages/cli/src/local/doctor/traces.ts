// What one host has on a machine, listed from the kernel and not from its records.

import { readdir, readFile, readlink } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import type { Traces } from "@skerry/contract/hosts/machine-report";
import { run } from "../system/run.ts";
import { cgroupTree } from "./cgroup-limits.ts";

export const traceKinds = [
  "processes",
  "namespaces",
  "links",
  "addresses",
  "tables",
  "cgroups",
  "files",
] as const;
type Kind = (typeof traceKinds)[number];
export type TraceLists = Readonly<Record<Kind, readonly string[]>>;

/** `instance` is what the host names its things after, `skerry-1a2b3c`; `folder` is where it keeps its files. */
export async function tracesOf(instance: string, folder: string): Promise<TraceLists> {
  const short = instance.replace("skerry-", "sk");
  const starting = (names: readonly string[], start: string): string[] =>
    names.filter((name) => name.startsWith(start));
  const tree = cgroupTree(await readFile("/proc/self/mounts", "utf8"));
  const tables = (await run("nft", ["list", "tables"])).stdout.split("\n");
  return {
    processes: await processesOf(instance, folder),
    namespaces: starting(await list("/run/netns"), `${instance}-`),
    links: starting(await list("/sys/class/net"), `${short}-`),
    addresses: starting(Object.keys(networkInterfaces()), `lo:${short}`),
    tables: tables.filter((line) => line.includes(instance.replace("-", "_"))),
    cgroups: tree === undefined ? [] : await cgroupsOf(join(tree, instance)),
    files: await list(folder),
  };
}

/** Those that are called after the instance, and those that work in its folder, which have changed their names. */
async function processesOf(instance: string, folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await list("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const words = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0");
    const where = await readlink(`/proc/${pid}/cwd`).catch(() => "");
    const isIts = words.some((word) => word.startsWith(`${instance}:`)) || where.startsWith(`${folder}/`);
    if (isIts) found.push(`${pid} ${words[0] ?? ""}`);
  }
  return found;
}

async function cgroupsOf(branch: string): Promise<string[]> {
  const entries = await readdir(branch, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return [];
  return [branch, ...entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(branch, name))];
}

function list(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

export function countTraces(before: TraceLists, during: TraceLists, after: TraceLists): Traces[] {
  return traceKinds.map((kind) => ({
    kind,
    before: before[kind].length,
    during: during[kind].length,
    after: after[kind].length,
  }));
}

/** The larger of each, by kind: things come and go. */
export function mostTraces(one: TraceLists, other: TraceLists): TraceLists {
  const larger = traceKinds.map((kind) => [
    kind,
    one[kind].length >= other[kind].length ? one[kind] : other[kind],
  ]);
  return Object.fromEntries(larger) as unknown as TraceLists; // every kind is in it
}
