// What the supervisor writes down for the commands: itself, its build, and the services that it has started.

import { createHash } from "node:crypto";
import { readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileExists, folderIdentity } from "../system/files.ts";
import type { Layout } from "../system/layout.ts";
import { isAlive, stopProcess, type ProcessIdentity } from "../system/processes.ts";

export type ServiceName = "control" | "host";

export interface SupervisorState {
  readonly supervisor: ProcessIdentity;
  /** Digest of the programs that it runs; `skerry up` replaces a supervisor of another build. */
  readonly build: string;
  readonly services: { readonly [Name in ServiceName]?: ProcessIdentity };
  /** Whose file it is: that of a copied state folder names the processes of the one that it is a copy of. Absent in files of earlier builds. */
  readonly folder?: string;
}

const PROGRAMS = ["skerry.js", "control.js", "host.js"];
const NATIVE = ["agent", "launch", "contain", "spawn-helper", "private-memory.so"].map(
  (name) => `native/${name}`,
);

/** Undefined where no supervisor of this state folder has written one. */
export async function readSupervisorState(layout: Layout): Promise<SupervisorState | undefined> {
  try {
    const state = JSON.parse(await readFile(layout.supervisorFile, "utf8")) as SupervisorState;
    return state.folder === undefined || state.folder === (await folderIdentity(layout.run))
      ? state
      : undefined;
  } catch {
    return undefined;
  }
}

/** The state of a supervisor that lives. */
export async function runningSupervisor(layout: Layout): Promise<SupervisorState | undefined> {
  const state = await readSupervisorState(layout);
  return state !== undefined && (await isAlive(state.supervisor)) ? state : undefined;
}

export async function saveSupervisorState(layout: Layout, state: SupervisorState): Promise<void> {
  const part = `${layout.supervisorFile}.${process.pid}`;
  await writeFile(part, JSON.stringify(state), { mode: 0o644 });
  await rename(part, layout.supervisorFile);
}

/** Stops what a supervisor that was killed has left running. No VM minds; PostgreSQL is adopted as it is. */
export async function stopOrphans(layout: Layout, graceMs: number): Promise<void> {
  const before = await readSupervisorState(layout);
  for (const identity of Object.values(before?.services ?? {})) await stopProcess(identity, graceMs);
}

/** Says whether two builds run the same programs, hand out the same clients and dashboard, and offer the same templates. */
export async function buildDigest(layout: Layout): Promise<string> {
  const hash = createHash("sha256");
  for (const file of [...PROGRAMS, ...NATIVE]) hash.update(await readFile(join(layout.dist, file)));
  for (const folder of [layout.templates, join(layout.dist, "clients"), join(layout.dist, "dashboard")]) {
    for (const file of await filesBelow(folder))
      hash.update(`\0${file}\0`).update(await readFile(join(folder, file)));
  }
  return hash.digest("hex");
}

async function filesBelow(folder: string): Promise<string[]> {
  // A build may be without one of them.
  if (!(await fileExists(folder))) return [];
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length))
    .toSorted();
}
