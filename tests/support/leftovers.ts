// What a host could leave behind on a machine, listed from the kernel and not from our own records.

import { execFile } from "node:child_process";
import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { promisify } from "node:util";

const run = promisify(execFile);

/** What is still there of these platforms (one line each: instance, a blank, state folder), one string each. */
export async function leftovers(register: string): Promise<string[]> {
  const left: string[] = [];
  const links = await readdir("/sys/class/net");
  const { stdout: tables } = await run("nft", ["list", "tables"]);
  for (const line of register.trim().split("\n")) {
    const [instance = "", state = ""] = line.split(" ");
    const short = instance.replace("skerry-", "sk");
    const qemus = (await qemuProcesses(instance)).map(({ pid, name }) => `process ${pid} ${name}`);
    const consoles = (await consoleLogs(state)).map((pid) => `process ${pid} console-log`);
    left.push(...qemus, ...consoles);
    for (const name of await namespaces(instance)) left.push(`namespace ${name}`);
    for (const name of links) if (name.startsWith(`${short}-`)) left.push(`link ${name}`);
    for (const name of Object.keys(networkInterfaces()))
      if (name.startsWith(`lo:${short}`)) left.push(`address ${name}`);
    if (tables.includes(instance.replace("-", "_"))) left.push(`table of ${instance}`);
    if (await stat(state).then(Boolean, () => false)) left.push(state);
  }
  return left;
}

export interface QemuProcess {
  readonly pid: number;
  /** `INSTANCE:VM:EXECUTION`, as the host names its processes. */
  readonly name: string;
  /** The VM that it was started for; one that has waited runs another since. */
  readonly vm: string;
}

/** Live QEMU processes whose name begins with this instance. */
export async function qemuProcesses(instance: string): Promise<QemuProcess[]> {
  const found: QemuProcess[] = [];
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const args = (await readFile(`/proc/${entry}/cmdline`, "utf8").catch(() => "")).split("\0");
    const name = args[args.indexOf("-name") + 1] ?? "";
    const state = /\) (\w)/.exec(await readFile(`/proc/${entry}/stat`, "utf8").catch(() => ""))?.[1];
    if (state === undefined || state === "Z" || !args[0]?.includes("qemu-system")) continue;
    if (args.includes("-name") && name.startsWith(`${instance}:`)) {
      found.push({ pid: Number(entry), name, vm: name.split(":")[1] ?? "" });
    }
  }
  return found;
}

/** Processes that keep the consoles of machines below this folder. */
export async function consoleLogs(state: string): Promise<number[]> {
  const found: number[] = [];
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const [program] = (await readFile(`/proc/${entry}/cmdline`, "utf8").catch(() => "")).split("\0");
    if (program?.endsWith("/console-log") !== true) continue;
    const cwd = await readlink(`/proc/${entry}/cwd`).catch(() => "");
    if (cwd.startsWith(`${state}/`)) found.push(Number(entry));
  }
  return found;
}

export async function namespaces(prefix: string): Promise<string[]> {
  const names = await readdir("/run/netns").catch(() => [] as string[]);
  return names.filter((name) => name.startsWith(prefix));
}

/** Namespaces with a policy in force. One that a host keeps ready for the next VM has none. */
export async function namespacesInUse(prefix: string): Promise<string[]> {
  const names = await namespaces(prefix);
  const used = await Promise.all(
    names.map((name) =>
      run("nsenter", [`--net=/run/netns/${name}`, "nft", "list", "table", "inet", "skerry_policy"]).then(
        () => true,
        () => false,
      ),
    ),
  );
  return names.filter((_, index) => used[index]);
}
