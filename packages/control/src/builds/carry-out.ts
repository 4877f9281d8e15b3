// A step of a build from its beginning to its end: what it came to is in its row, and where it has failed, so
// is the build.

import { failedInstruction, STEP_LINE } from "@skerry/build-plan/plan/failed-instruction";
import type { Context } from "../context.ts";
import type { HostClient } from "../host-client/host-client.ts";
import { keepDenials } from "./build-egress.ts";
import { appendLines, lastLineLike, lastLines } from "./build-log-store.ts";
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
  const { left_ms: leftMs, request } = row;
  const secrets = request.secrets ?? [];
  const exit = await runStep(context, { client, vm, step, mayLogIn, secrets, leftMs, stop });
  const last = await lastLines(context.db, row.id, step.index, LAST_LINES);
  const tookMs = performance.now() - startedMs;
  const hasFailed = exit.exit_code !== 0 || exit.signal !== null || exit.timed_out;
  const instruction = hasFailed ? await instructionOf(context, row, step) : undefined;
  const fault = exitFault(exit, { step, leftMs: row.left_ms, tookMs, last, instruction });
  await noteImage(context, { row, client, vm }, { kind: step.kind, isDone: fault === undefined }, stop);
  await endStep(context.db, step, {
    status: fault === undefined ? "done" : "failed",
    exitCode: exit.exit_code,
  });
  const denials = await keepDenials(context, client, vm);
  if (fault === undefined) return undefined;
  const texts = [...(instruction === undefined ? [] : [`--- failed: ${instruction}`]), ...denials];
  await appendLines(context.db, { buildId: row.id, step: step.index, texts });
  return failBuild(context, row, fault, { step: step.index, exitCode: exit.exit_code, last });
}

/** The instruction that a Dockerfile's step has come to. */
async function instructionOf(
  { db }: Context,
  { id, request }: BuildRow,
  { kind, index }: StepRow,
): Promise<string | undefined> {
  if (kind !== "dockerfile") return undefined;
  const said = await lastLineLike(db, { buildId: id, step: index, pattern: STEP_LINE });
  return failedInstruction({ request, group: request.git === undefined ? index : index - 1, said });
}
