// What holds a VM's QEMU, seen from outside: what the kernel says about the process, and what it can see. And what its guest is told of the CPU.

import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Finding } from "@skerry/contract/hosts/finding";
import { create, type Bench } from "../bench/bench.ts";
import { qemuPidOf } from "../tests/support/platform.ts";
import { jailFinding } from "./jail-list.ts";

const SECTION = "boundary";
const NAMESPACES = ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"] as const;
const OPEN =
  "A guest that breaks QEMU has more in reach than it should: do not run what you do not trust, and report it with this file.";

export async function boundaryFindings(
  { platform }: Bench,
  { isEmulated }: { readonly isEmulated: boolean },
): Promise<Finding[]> {
  const sandbox = await create(platform);
  try {
    const pid = await qemuPidOf(platform, sandbox.info.id);
    const { stdout } = await sandbox.execute("grep -m 1 ^flags /proc/cpuinfo");
    return [
      processFinding(await readFile(`/proc/${pid}/status`, "utf8")),
      await namespaceFinding(pid),
      await viewFinding(pid),
      await filesFinding(pid, { state: platform.state, id: sandbox.info.id }),
      mergeFinding(await readFile(`/proc/${pid}/smaps`, "utf8")),
      cpuFinding(stdout, { isEmulated }),
      await limitFinding(pid),
      await jailFinding(),
      notTried(
        "memory of 32 GiB filled",
        "it would take the machine's memory: see `memory.max` above for the room on top",
      ),
    ];
  } finally {
    await sandbox.destroy();
  }
}

const finding = (check: string, found: string, faults: readonly string[] = []): Finding => ({
  ...{ section: SECTION, check, figures: [] },
  ...(faults.length === 0
    ? { verdict: "ok", found, remedy: "" }
    : { verdict: "fault", found: faults.join(", "), remedy: OPEN }),
});
const notTried = (check: string, why: string): Finding => ({
  ...{ section: SECTION, check, verdict: "not_tried", found: why, remedy: "", figures: [] },
});

/** From the text of /proc/PID/status. */
export function processFinding(status: string): Finding {
  const field = (name: string): string =>
    new RegExp(`^${name}:[ \\t]*(.*)$`, "m").exec(status)?.[1]?.trim() ?? "";
  const ids = new Set([...field("Uid").split(/\s+/), ...field("Gid").split(/\s+/)]);
  const held = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"].filter((name) => !/^0+$/.test(field(name)));
  const filters = Number(field("Seccomp_filters") || (field("Seccomp") === "2" ? 1 : 0));
  return finding(
    "process",
    `a user of its own, no group, no capability, no new privileges, ${filters} seccomp filters`,
    [
      ...(ids.size === 1 && !ids.has("0") ? [] : [`its ids are ${[...ids].join(" ")}`]),
      ...(field("Groups") === "" ? [] : [`it is in groups ${field("Groups")}`]),
      ...(held.length === 0 ? [] : [`it has capabilities (${held.join(" ")})`]),
      ...(field("NoNewPrivs") === "1" ? [] : ["it can gain privileges"]),
      ...(filters > 0 ? [] : ["no seccomp filter holds it"]),
    ],
  );
}

async function namespaceFinding(pid: number): Promise<Finding> {
  const own: string[] = [];
  const shared: string[] = [];
  for (const name of NAMESPACES) {
    const [its, ours] = await Promise.all(
      [`/proc/${pid}/ns/${name}`, `/proc/self/ns/${name}`].map((file) => readlink(file)),
    );
    (its === ours ? shared : own).push(name);
  }
  const lacks = ["net", "ipc", "mnt", "pid"]
    .filter((name) => shared.includes(name))
    .map((name) => `the machine's ${name} namespace is its own`);
  return finding(
    "namespaces",
    `of its own: ${own.join(", ")}; the machine's: ${shared.join(", ") || "none"}`,
    lacks,
  );
}

/** What lies at the root of its file system, and which devices. */
async function viewFinding(pid: number): Promise<Finding> {
  const names = async (folder: string): Promise<string[]> =>
    (await readdir(join(`/proc/${pid}/root`, folder)).catch(() => [] as string[])).toSorted();
  const [root, devices] = [await names("/"), await names("/dev")];
  const shown = (list: readonly string[]): string =>
    list.length > 20 ? `${list.length} entries` : list.join(" ") || "nothing";
  return finding("file system", `at its root: ${shown(root)}; in /dev: ${shown(devices)}`);
}

/** Files of other VMs must not be open in it. */
async function filesFinding(
  pid: number,
  { state, id }: { readonly state: string; readonly id: string },
): Promise<Finding> {
  const fds = await readdir(`/proc/${pid}/fd`);
  const targets = await Promise.all(fds.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => "")));
  const vms = join(state, "host/vms");
  const own = new Set(
    await Promise.all((await readdir(join(vms, id))).map((name) => identityOf(join(vms, id, name)))),
  );
  // By what they are: a clone that has waited was opened under another name.
  const ids = await Promise.all(fds.map((fd) => identityOf(`/proc/${pid}/fd/${fd}`)));
  const others = targets.filter(
    (target, index) => target.startsWith(`${vms}/`) && !own.has(ids[index] ?? ""),
  );
  const kinds = Map.groupBy(targets, (target) =>
    target.replace(/:?\[.*$/, "").replace(/^\/.*\/(?=[^/]+$)/, ""),
  );
  const shown = [...kinds].map(([kind, files]) => (files.length > 1 ? `${files.length} ${kind}` : kind));
  return finding(
    "open files",
    shown.toSorted().join(", "),
    others.map((file) => `it has ${file} open`),
  );
}

/** From the text of /proc/PID/smaps: `mg` marks memory that KSM may merge with that of other guests. */
export function mergeFinding(smaps: string): Finding {
  const merged = [...smaps.matchAll(/^VmFlags:(.*)$/gm)].filter(([, flags]) =>
    /\bmg\b/.test(flags ?? ""),
  ).length;
  return finding(
    "merged memory",
    "KSM leaves its memory alone",
    merged === 0 ? [] : [`KSM may merge ${merged} areas of its memory`],
  );
}

/** From the guest's own /proc/cpuinfo. */
export function cpuFinding(flags: string, { isEmulated }: { readonly isEmulated: boolean }): Finding {
  const check = "CPU of the guest";
  // It may have them: what its guests would use is emulated as well.
  if (isEmulated) return notTried(check, "the guest's CPU is emulated");
  const seen = ["vmx", "svm"].filter((name) => new RegExp(`\\b${name}\\b`).test(flags));
  return finding(
    check,
    "it has neither vmx nor svm",
    seen.map((name) => `the guest sees ${name}`),
  );
}

async function identityOf(path: string): Promise<string> {
  return stat(path).then(
    ({ dev, ino }) => `${dev}:${ino}`,
    () => "",
  );
}

async function limitFinding(pid: number): Promise<Finding> {
  const path = /^0::(.*)$/m.exec(await readFile(`/proc/${pid}/cgroup`, "utf8"))?.[1];
  const mounts = await readFile("/proc/self/mounts", "utf8");
  const tree = mounts
    .split("\n")
    .find((line) => line.split(" ")[2] === "cgroup2")
    ?.split(" ")[1];
  if (path === undefined || tree === undefined) return notTried("limits", "it is in no cgroup of version 2");
  const files = ["memory.max", "memory.swap.max", "cpu.max", "pids.max", "io.max"];
  const values = await Promise.all(
    files.map(
      async (file) => [file, await readFile(join(tree, path, file), "utf8").catch(() => undefined)] as const,
    ),
  );
  const set = values.flatMap(([file, value]) => (value === undefined ? [] : [`${file} ${value.trim()}`]));
  return set.length === 0
    ? notTried("limits", "the tree has no controllers here: see `cgroups`")
    : finding("limits", set.join(", "));
}
