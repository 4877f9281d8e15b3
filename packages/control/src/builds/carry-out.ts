// A step of a build from its beginning to its end: what it came to is in its row, and where it has failed, so is the build.

import type { Context } from "../context.ts";
import type { HostClient } from "../host-client/host-client.ts";
import { keepDenials } from "./build-egress.ts";
import { appendLines, lastLines } from "./build-log-store.ts";
import { endStep, type BuildRow, type StepRow } from "./build-store.ts";
import { exitFault } from "./exit-fault.ts";
import { failBuild } from "./fail-build.ts";
import { noteImage } from "./note-image.ts";
import { runStep } from "./run-step.ts";

const LAST_LINES = 20;

/** A build that runs: its row, as it was seen last, and its host. */
export interface Running {
  readonly row: BuildRow & { readonly execution_id: string };
  readonly client: HostClient;
  readonly stop: AbortSignal;
}

/** Undefined where it has succeeded. `mayLogIn`: with credentials of registries, where it needs any. */
export async function carryOut(
  context: Context,
  { row, client, stop }: Running,
  { step, mayLogIn }: { readonly step: StepRow; readonly mayLogIn: boolean },
): Promise<BuildRow | undefined> {
  const vm = { id: row.id, execution_id: row.execution_id };
  const startedMs = performance.now();
  if (step.status === "waiting")
    await appendLines(context.db, { buildId: row.id, step: step.index, texts: [`--- ${step.name}`] });
  const exit = await runStep(context, { client, vm, step, mayLogIn, leftMs: row.left_ms, stop });
  const last = await lastLines(context.db, row.id, step.index, LAST_LINES);
  const fault = exitFault(exit, { step, leftMs: row.left_ms, tookMs: performance.now() - startedMs, last });
  await noteImage(context, { row, client, vm }, { kind: step.kind, isDone: fault === undefined }, stop);
  await endStep(context.db, step, {
    status: fault === undefined ? "done" : "failed",
    exitCode: exit.exit_code,
  });
  const denials = await keepDenials(context, client, vm);
  if (fault === undefined) return undefined;
  await appendLines(context.db, { buildId: row.id, step: step.index, texts: denials });
  return failBuild(context, row, fault, { step: step.index, exitCode: exit.exit_code, last });
}
