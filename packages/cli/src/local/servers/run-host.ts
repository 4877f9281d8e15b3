// Commands of the host program that end: `prepare` and `clear`.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { environment } from "../../config.ts";
import type { Layout } from "../system/layout.ts";
import { beginStep, type Step } from "../system/step.ts";
import type { SystemUser } from "../system/system-user.ts";
import { hostFailure, type HostFailure } from "./host-failure.ts";
import { hostEnvironment } from "./services.ts";

const STDERR_TAIL_CHARS = 4_000;

/** As the host program prints it. */
interface StepLine {
  readonly step: string;
  readonly state: "begin" | "done" | "failed";
  readonly message?: string;
}

/** Runs a command of the host program and shows the steps that it reports. */
export function runHost(
  layout: Layout,
  user: SystemUser | undefined,
  command: "prepare" | "clear",
): Promise<void> {
  const child = spawn(process.execPath, ["--enable-source-maps", join(layout.dist, "host.js"), command], {
    env: { PATH: environment()["PATH"], SKERRY_LOG_LEVEL: "silent", ...hostEnvironment(layout, user) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let running: Step | undefined;
  let failed: HostFailure["step"];
  let stderr = "";
  child.stderr
    .setEncoding("utf8")
    .on("data", (text: string) => (stderr = (stderr + text).slice(-STDERR_TAIL_CHARS)));
  createInterface({ input: child.stdout }).on("line", (line) => {
    const { step: title, state, message = "" } = JSON.parse(line) as StepLine;
    if (state === "begin") running = beginStep(title);
    else if (state === "done") running?.done();
    else {
      running?.failed();
      failed = { title, message };
    }
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) return resolve();
      reject(hostFailure({ command, step: failed, stderr }));
    });
  });
}
