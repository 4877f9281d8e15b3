import { setTimeout as sleep } from "node:timers/promises";
import type { BuildLog, BuildLogLine } from "@skerry/contract/builds/build-log";
import { isBuildOver } from "@skerry/contract/builds/build-status";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { readLines, type LogRow } from "./build-log-store.ts";
import { getBuild } from "./builds.ts";

/** Lines of one answer. */
const PAGE_LINES = 1_000;
const LOOK_MS = 500;

export async function readBuildLog(
  context: Context,
  caller: Caller,
  { id, after }: { readonly id: string; readonly after: number },
): Promise<BuildLog> {
  await getBuild(context, caller, id);
  const found = await readLines(context.db, id, { after, limit: PAGE_LINES + 1 });
  return { lines: found.slice(0, PAGE_LINES).map(lineOf), more: found.length > PAGE_LINES };
}

/** The lines after that one, and then every one that comes, until the build has ended. Throws the reason of `gone`. */
export async function* followBuildLog(
  context: Context,
  caller: Caller,
  { id, after, gone }: { readonly id: string; readonly after: number; readonly gone: AbortSignal },
): AsyncGenerator<BuildLogLine> {
  for (let last = after; ;) {
    gone.throwIfAborted();
    // Before the lines: what was written until its end is among them.
    const { row } = await getBuild(context, caller, id);
    const lines = await readLines(context.db, id, { after: last, limit: PAGE_LINES });
    for (const line of lines) {
      yield lineOf(line);
      last = line.line;
    }
    if (lines.length === PAGE_LINES) continue;
    if (isBuildOver(row.status)) return;
    await sleep(LOOK_MS, undefined, { signal: gone }).catch(() => gone.throwIfAborted());
  }
}

function lineOf({ line, step, at, text }: LogRow): BuildLogLine {
  return { line, step, time: at.toISOString(), text };
}
