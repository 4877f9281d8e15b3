import { readFile } from "node:fs/promises";
import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";

/** What a reader needs to judge the figures, one line each. */
export async function describeMachine(assets: string): Promise<string[]> {
  const { verdict } = JSON.parse(await readFile(join(assets, "accelerator.json"), "utf8")) as {
    verdict: { accelerator: string; reason: string };
  };
  const system =
    /^PRETTY_NAME="?([^"\n]*)/m.exec(await readFile("/etc/os-release", "utf8"))?.[1] ?? "unknown";
  return [
    `${cpus().length} × ${cpus()[0]?.model.trim() ?? "?"}, ${Math.round(totalmem() / 1024 ** 3)} GiB, ${system}, Linux ${release()}`,
    `Guests run on ${verdict.accelerator}: ${verdict.reason}`,
    `Node ${process.versions.node}; client, control, host and all guests share these CPUs`,
    `${new Date().toISOString().slice(0, 10)}`,
  ];
}
