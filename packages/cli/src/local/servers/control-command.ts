// Commands that control itself carries out, past the API: what they do is the operator's on this machine, and no token's.

import { environment } from "../../config.ts";
import { CliError } from "../../errors.ts";
import type { Layout } from "../system/layout.ts";
import { run } from "../system/run.ts";
import { controlEnvironment } from "./services.ts";
import { findSystemUser } from "../system/system-user.ts";

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
  const { code, stdout, stderr } = await run(process.execPath, [`${layout.dist}/control.js`, ...args], {
    env: { PATH: environment()["PATH"], ...controlEnvironment(layout, user), SKERRY_LOG_LEVEL: "silent" },
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  });
  if (code !== 0) throw new CliError(failure, stderr.trim());
  return JSON.parse(stdout);
}

/** Before anything is started: control would end with the same words, be started again and end again, until the one who waits gives up. */
export async function checkControlSettings(layout: Layout): Promise<void> {
  if (layout.joined !== undefined) return;
  await controlCommand(layout, ["check-settings"], { failure: "wrong_settings" });
}
