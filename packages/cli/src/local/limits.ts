// An operator's exceptions for one organization. They are set past the API, so that no token can raise limits.

import { environment } from "../config.ts";
import { CliError } from "../errors.ts";
import type { Layout } from "./layout.ts";
import { run } from "./run.ts";
import { controlEnvironment } from "./services.ts";
import { findSystemUser } from "./system-user.ts";

/** All exceptions of the organization as they are afterwards. A change is `NAME=NUMBER` or `NAME=default`. */
export async function changeLimits(
  layout: Layout,
  orgId: string,
  changes: readonly string[],
): Promise<unknown> {
  const user = await findSystemUser();
  if (user === undefined) {
    throw new CliError("not_running", "Skerry has never been started on this machine.", {
      remediation: "Start it with `skerry up`.",
    });
  }
  const { code, stdout, stderr } = await run(
    process.execPath,
    [`${layout.dist}/control.js`, "limits", "--org", orgId, ...changes],
    { env: { PATH: environment()["PATH"], ...controlEnvironment(layout, user) } },
  );
  if (code !== 0) throw new CliError("limits_not_changed", stderr.trim());
  return JSON.parse(stdout);
}
