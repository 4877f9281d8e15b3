import { join } from "node:path";
import { CliError } from "../../errors/errors.ts";
import { fileExists } from "./files.ts";
import { RESTORING, type Layout } from "./layout.ts";

export async function refuseHalfRestored({ state }: Layout): Promise<void> {
  if (!(await fileExists(join(state, RESTORING)))) return;
  throw new CliError("restore_unfinished", `A backup was being restored in ${state}, and that did not end.`, {
    remediation: "Run `skerry restore` again; it begins anew there.",
  });
}
