// A host of its own beside the one that may run here, in a folder of its own, which tries what hosts do with guests. Kernel and disks come from
// the installation where it has them. Whatever becomes of it, it is cleared away and counted.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Finding } from "@skerry/contract/hosts/finding";
import type { Traces } from "@skerry/contract/hosts/machine-report";
import { environment } from "../../config.ts";
import { hostEnvironment } from "../servers/services.ts";
import { fileExists } from "../system/files.ts";
import { STATE_MAX_BYTES, type Layout } from "../system/layout.ts";
import { run, type RunResult } from "../system/run.ts";
import { takeAssets } from "./take-assets.ts";
import { countTraces, mostTraces, tracesOf, type TraceLists } from "./traces.ts";

export type Amount = "quick" | "full" | "long";

export interface HostExamination {
  readonly findings: readonly Finding[];
  readonly facts: Readonly<Record<string, string>>;
  readonly traces: readonly Traces[];
  /** What is left of it that should not be, by name. */
  readonly left: readonly string[];
}

export interface ExamineOptions {
  readonly amount: Amount;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

/** What the program prints, line by line. */
interface Line {
  readonly finding?: Finding;
  readonly facts?: Readonly<Record<string, string>>;
  readonly step?: string;
  readonly state?: "begin" | "done" | "failed";
  readonly ms?: number;
}

/** Names in a state folder of this kind that sockets lie below, and the zero at a path's end. */
const OWN_FOLDER = "/doctor-123456";
const PREFIX = "doctor-";
const LEFT = /^doctor-[A-Za-z0-9]{6}$/;
/** In which a doctor takes copies of disks, before its host holds the folder. */
const GETTING_READY_MS = 3_600_000;
const CLEAR_DEADLINE_MS = 120_000;
const LOOK_MS = 500;
const ERROR_MAX_CHARS = 4_000;

export async function examineHost(layout: Layout, options: ExamineOptions): Promise<HostExamination> {
  await clearLeft(layout);
  const folder = await makeFolder(layout);
  const instance = `skerry-${createHash("sha256").update(folder).digest("hex").slice(0, 6)}`;
  const env = hostIn(layout, folder);
  const before = await tracesOf(instance, join(folder, "vms"));
  let during = before;
  const look = async (): Promise<void> => {
    during = mostTraces(during, await tracesOf(instance, join(folder, "vms")));
  };
  try {
    await takeAssets(layout.hostAssets, join(folder, "assets"));
    const outcome = await examine(layout, { ...options, env, look });
    return { ...outcome, ...(await clear(layout, { env, folder, instance, before, during })) };
  } catch (error) {
    await clear(layout, { env, folder, instance, before, during });
    throw error;
  }
}

/** The environment of a host in this folder. */
function hostIn(layout: Layout, folder: string): NodeJS.ProcessEnv {
  return {
    ...environment(),
    ...hostEnvironment({ ...layout, joined: undefined }, undefined),
    ...{ SKERRY_HOST_STATE: folder, SKERRY_HOST_ASSETS: join(folder, "assets") },
    SKERRY_HOST_SOCKET: join(folder, "host.sock"),
    // The host of this machine has those.
    ...{ SKERRY_HOST_LISTEN: "", SKERRY_HOST_ADDRESS: "", SKERRY_VM_CIDR: "" },
    ...{ SKERRY_WARM_MAX: "0", SKERRY_WARM_MIN: "0", SKERRY_LOG_LEVEL: "error" },
  };
}

/** Clears away what an examination that was killed has left: guests that run on, and a folder with copies of disks. A young one may be another
 *  doctor's that is only getting ready; the host of one that is at work holds the lock of its folder, so that it is not cleared. */
export async function clearLeft(layout: Layout): Promise<void> {
  const names = await readdir(layout.state).catch(() => [] as string[]);
  for (const folder of names.filter((name) => LEFT.test(name)).map((name) => join(layout.state, name))) {
    const found = await stat(folder).catch(() => undefined);
    if (found === undefined || Date.now() - found.mtimeMs < GETTING_READY_MS) continue;
    const { code } = await runClear(layout, hostIn(layout, folder));
    if (code === 0) await rm(folder, { recursive: true, force: true });
  }
}

function runClear({ dist }: Layout, env: NodeJS.ProcessEnv): Promise<RunResult> {
  return run(process.execPath, [join(dist, "host.js"), "clear"], { env, deadlineMs: CLEAR_DEADLINE_MS });
}

/** In the installation's own state folder, so that its disk is the one that is tried, and its files can be linked. */
async function makeFolder({ state }: Layout): Promise<string> {
  const isShort = Buffer.byteLength(state) + OWN_FOLDER.length <= STATE_MAX_BYTES;
  const fits = isShort && (await fileExists(state).catch(() => false));
  const folder = await mkdtemp(fits ? join(state, PREFIX) : "/tmp/skerry-doctor-");
  await chmod(folder, 0o711);
  return folder;
}

async function examine(
  layout: Layout,
  {
    amount,
    signal,
    say,
    env,
    look,
  }: ExamineOptions & { readonly env: NodeJS.ProcessEnv; readonly look: () => Promise<void> },
): Promise<Pick<HostExamination, "findings" | "facts">> {
  const findings: Finding[] = [];
  const facts: Record<string, string> = {};
  const child = spawn(process.execPath, [join(layout.dist, "host.js"), "examine", amount], {
    ...{ env, stdio: ["ignore", "pipe", "pipe"], detached: true },
  });
  const kill = (): void => void child.kill("SIGKILL");
  signal.addEventListener("abort", kill, { once: true });
  let words = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    words = (words + text).slice(-ERROR_MAX_CHARS);
  });
  createInterface({ input: child.stdout }).on("line", (text) => {
    const { finding, facts: more, step, state, ms } = JSON.parse(text) as Line; // of the same build
    if (finding !== undefined) {
      findings.push(finding);
      say(`  ${finding.check}: ${finding.found}`);
    }
    Object.assign(facts, more);
    if (step !== undefined && state !== "begin")
      say(`${step} ${state === "failed" ? "failed" : ""}(${((ms ?? 0) / 1_000).toFixed(1)} s)`);
  });
  let looking: Promise<void> | undefined;
  const watch = setInterval(() => {
    looking ??= look().finally(() => (looking = undefined));
  }, LOOK_MS);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    signal.throwIfAborted();
    if (code !== 0) findings.push(brokenOff(words));
    return { findings, facts };
  } finally {
    clearInterval(watch);
    signal.removeEventListener("abort", kill);
    await looking;
  }
}

function brokenOff(words: string): Finding {
  return {
    ...{ section: "boot", check: "examination", verdict: "fault" },
    found: `it broke off: ${words.trim() || "without a word"}`,
    remedy: "`skerry up` fails in the same way; its message and host.log say more.",
    figures: [],
  };
}

interface Cleared {
  readonly env: NodeJS.ProcessEnv;
  readonly folder: string;
  readonly instance: string;
  readonly before: TraceLists;
  readonly during: TraceLists;
}

async function clear(
  layout: Layout,
  { env, folder, instance, before, during }: Cleared,
): Promise<Pick<HostExamination, "traces" | "left">> {
  await runClear(layout, env);
  await rm(folder, { recursive: true, force: true });
  const after = await tracesOf(instance, folder);
  return {
    traces: countTraces(before, during, after),
    left: Object.entries(after).flatMap(([kind, names]) => names.map((name) => `${kind}: ${name}`)),
  };
}
