// Why there is no sandbox, or no machine, of a name: it is one of the other kind, or it was one.

import type { Skerry } from "@skerry/sdk";
import { CliError } from "../../errors/errors.ts";
import { relativeTime } from "../../output/relative-times.ts";
import { findId, type TargetKind } from "../../targets.ts";

/** Commands that both kinds have, as the user types them. */
const shared: ReadonlySet<string> = new Set(
  "attach destroy download egress events exec executions file fork forward get kill logs ls metrics ports rollback shell show snapshot update upload url watch".split(
    " ",
  ),
);

/** `text` is a machine's, or the other way round. `verb`: of the command that looks for it. */
export async function ofOtherKind(
  other: TargetKind,
  verb: string | undefined,
  text: string,
): Promise<CliError | undefined> {
  if ((await findId(other, text)) === undefined) return undefined;
  const { noun } = other;
  const missing = noun === "machine" ? "sandbox" : "machine";
  const command =
    verb !== undefined && shared.has(verb) ? `\`skerry ${noun} ${verb} ${text}\`` : `\`skerry ${noun}\``;
  return new CliError(`${missing}_not_found`, `There is no ${missing} "${text}": it is a ${noun}.`, {
    remediation: `Use ${command}.`,
  });
}

/** Those that ended last, among which it is looked for. */
const ENDED_MAX = 500;

export async function endedSandbox(
  { sandboxes }: Skerry,
  signal: AbortSignal,
  text: string,
): Promise<CliError | undefined> {
  const { items } = await sandboxes.page({ limit: ENDED_MAX }, { signal });
  const info = items.map((sandbox) => sandbox.info).find(({ name }) => name === text);
  if (info === undefined) return undefined;
  const endedAt = info.destroyed_at ?? info.expires_at;
  const when = `${relativeTime(endedAt)}, at ${endedAt}`;
  if (info.reason?.includes("expired") === true)
    return new CliError("sandbox_expired", `The sandbox "${text}" expired ${when}.`, {
      remediation:
        "Create one with a longer --timeout, or run `skerry sandbox keepalive ID` before its time is over.",
    });
  const how =
    info.status === "failed" ? `has failed: ${info.reason ?? "no reason is known"}` : `ended ${when}`;
  return new CliError("sandbox_not_found", `The sandbox "${text}" ${how}.`, {
    remediation: `\`skerry sandbox get ${info.id}\` shows it. Create another one.`,
  });
}
