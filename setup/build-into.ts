// Programs, native pieces, and the clients that a server hands out, built into one folder.

import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { bundle } from "./bundle.ts";
import { buildDashboard } from "./build-dashboard.ts";
import { buildClients } from "./clients/build-clients.ts";
import { buildPythonWheel } from "./clients/python-wheel.ts";

const root = join(import.meta.dirname, "..");

/** Returns the files that were bundled, relative to the checkout. */
export async function buildInto(dist: string): Promise<readonly string[]> {
  mkdirSync(join(dist, "native"), { recursive: true });
  make("packages/host/native", join(dist, "native"));
  make("packages/guest", join(dist, "native"));
  await buildClients(join(dist, "clients"));
  buildPythonWheel(join(dist, "clients"));
  const shown = await buildDashboard(join(dist, "dashboard"));
  return [...shown, ...(await bundle(["skerry", "control", "host"], dist))];
}

function make(folder: string, out: string): void {
  const result = spawnSync("make", ["--no-print-directory", "-C", join(root, folder), `OUT=${out}`], {
    stdio: "inherit",
  });
  if (result.status !== 0) throw new Error(`make in ${folder} failed`);
}
