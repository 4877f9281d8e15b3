// The end of a build that cannot go on: its error, as users read it, and its line in the audit log.

import type { Build } from "@skerry/contract/builds/build";
import { SkerryError } from "@skerry/contract/errors";
import { recordOwnActs } from "../audit/audit-log.ts";
import type { Context } from "../context.ts";
import { countBuildEnd } from "./count-build-end.ts";
import { buildById, proceedBuild, type BuildRow } from "./build-store.ts";

const SERVICE = "builder";

const LINES_MAX = 20;

/** What the host tells of a start command that failed, and the end of the console of a guest that did not boot. Other faults have neither. */
function saidByGuest({
  context = {},
}: SkerryError): Pick<NonNullable<Build["error"]>, "exit_code" | "last_lines"> {
  const { exit_code: code, log } = context;
  return {
    exit_code: typeof code === "number" && Number.isInteger(code) ? code : null,
    last_lines: typeof log === "string" && log !== "" ? textOf(log).split("\n").slice(-LINES_MAX) : [],
  };
}

/** It may quote what a guest says, and the database refuses what is no text. */
const textOf = (said: string) => said.toWellFormed().replaceAll("\0", "\uFFFD");

interface FailedStep {
  readonly step: number;
  readonly exitCode: number;
  readonly last: readonly string[];
}

/** The row as it is then: `failed`, or what another writer has made of it meanwhile; undefined where it is gone. `failed` says which step it was. */
export async function failBuild(
  context: Context,
  row: BuildRow,
  cause: Error,
  failed?: FailedStep,
): Promise<BuildRow | undefined> {
  const known =
    cause instanceof SkerryError ? cause : new SkerryError("internal", "Something unexpected went wrong.");
  if (!(cause instanceof SkerryError))
    context.log.error({ err: cause, build_id: row.id }, "a build failed unexpectedly");
  const error: Build["error"] = {
    code: known.code,
    message: textOf(known.message),
    step: failed?.step ?? null,
    ...(failed === undefined
      ? saidByGuest(known)
      : { exit_code: failed.exitCode, last_lines: [...failed.last] }),
  };
  let hasFailed = false;
  const found = await context.db.transaction().execute(async (transaction) => {
    const now = await buildById(transaction, row.id);
    if (now === undefined || now.status !== row.status) return now;
    const ended = await proceedBuild(transaction, now, "failed", { error });
    if (ended !== undefined)
      await recordOwnActs(transaction, { service: SERVICE, action: "build.fail", resource: "build" }, [
        ended,
      ]);
    hasFailed = ended !== undefined;
    return ended;
  });
  return hasFailed ? countBuildEnd(context, found) : found;
}
