// Commands that control itself carries out, past the API: what they do is the operator's on this machine, and no token's.

import { environment } from "../../config.ts";
import { CliError } from "../../errors/errors.ts";
import type { Layout } from "../system/layout.ts";
import { run } from "../system/run.ts";
import { controlEnvironment } from "./services.ts";
import { pipeThrough, PipeFailure } from "../system/pipe-through.ts";
import { findSystemUser, type SystemUser } from "../system/system-user.ts";

/** What it prints, which is JSON. `failure` is the code of the error where it says that it could not. */
export async function controlCommand(
  layout: Layout,
  args: readonly string[],
  { failure, deadlineMs }: { readonly failure: string; readonly deadlineMs?: number },
): Promise<unknown> {
  const user = await findSystemUser();
  if (user === undefined) {
    throw new CliError("not_running", "Skerry has never been started on this machine.", {
      remediation: "Start it with `skerry up`.",
    });
  }
  requireControlsUser(args[0] ?? "", user.uid);
  const { code, stdout, stderr } = await run(process.execPath, [`${layout.dist}/control.js`, ...args], {
    env: controlCommandEnvironment(layout, user),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  });
  if (code !== 0) throw new CliError(failure, wordsOf(stderr));
  return JSON.parse(stdout);
}

/** The same of a command that reads a stream, for as long as that takes. */
export async function feedControlCommand(
  layout: Layout,
  args: readonly string[],
  { failure, user, input }: FeedOptions,
): Promise<unknown> {
  const options = { cwd: "/", env: controlCommandEnvironment(layout, user) };
  let stdout = "";
  try {
    const program = [`${layout.dist}/control.js`, ...args];
    for await (const chunk of pipeThrough(process.execPath, program, options, input))
      stdout += chunk.toString("utf8");
  } catch (error) {
    throw error instanceof PipeFailure ? new CliError(failure, wordsOf(error.stderr)) : error;
  }
  return JSON.parse(stdout);
}

interface FeedOptions {
  readonly failure: string;
  readonly user: SystemUser;
  readonly input: AsyncIterable<Uint8Array>;
}

function controlCommandEnvironment(layout: Layout, user: SystemUser): NodeJS.ProcessEnv {
  return { PATH: environment()["PATH"], ...controlEnvironment(layout, user), SKERRY_LOG_LEVEL: "silent" };
}

/** Control gives up root's rights for its own user's, whom alone the database lets in. */
function requireControlsUser(command: string, uid: number): void {
  const own = process.getuid?.();
  if (own === 0 || own === uid) return;
  throw new CliError("not_root", `Only root can have the control plane do this (${command}).`, {
    remediation: "Run it as root, or with sudo, on the machine of the control plane.",
  });
}

/** What control says of a failure that it did not expect has a trace of its code, which is for its log. */
function wordsOf(stderr: string): string {
  const lines = stderr.trim().split("\n");
  const trace = lines.findIndex((line) => /^\s+at /.test(line));
  return (trace < 0 ? lines : lines.slice(0, trace)).join(" ").replace(/^Error: /, "");
}

/** Before anything is started: control would end with the same words, be started again and end again, until the one who waits gives up. */
export async function checkControlSettings(layout: Layout): Promise<void> {
  if (layout.joined !== undefined) return;
  await controlCommand(layout, ["check-settings"], { failure: "wrong_settings" });
}
