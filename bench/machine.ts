import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { cpus, loadavg, release, totalmem } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type AcceleratorVerdict, KVM_DEVICE } from "../packages/host/src/vm/qemu/accelerator.ts";
import { assets, root } from "./bench.ts";

/** What a reader needs to judge the figures, one line each. */
export async function describeMachine(loadBefore: number): Promise<string[]> {
  // Where there is no /dev/kvm the host asks nothing, and keeps nothing.
  const { verdict } = await readFile(join(assets, "accelerator.json"), "utf8").then(
    (text) => JSON.parse(text) as { verdict: AcceleratorVerdict },
    () => ({ verdict: { accelerator: "tcg", reason: `${KVM_DEVICE} does not exist` } }),
  );
  const system =
    /^PRETTY_NAME="?([^"\n]*)/m.exec(await readFile("/etc/os-release", "utf8"))?.[1] ?? "unknown";
  return [
    `${cpus().length} × ${cpus()[0]?.model.trim() ?? "?"}, ${Math.round(totalmem() / 1024 ** 3)} GiB, ${system}, Linux ${release()}`,
    `Guests run on ${verdict.accelerator}: ${verdict.reason}`,
    `Node ${process.versions.node}; client, control, host and all guests share these CPUs`,
    `${new Date().toISOString().slice(0, 10)}; load of the machine before it began: ${loadBefore.toFixed(1)}`,
  ];
}

/** Processes that wanted a CPU in the last minute, on average. */
export function loadNow(): number {
  return loadavg()[0] ?? Number.NaN;
}

/** What git says, or nothing where this is no checkout. */
export async function git(...args: readonly string[]): Promise<string | undefined> {
  return promisify(execFile)("git", args, { cwd: root, maxBuffer: 64 * 1024 * 1024 }).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
}
