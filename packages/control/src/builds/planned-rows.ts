// The steps of a plan as rows, each with the id of its execution.

import type { BuildPlan } from "@skerry/build-plan/build-plan";
import { newId } from "@skerry/contract/ids";
import type { BuildRow, NewStep } from "./build-store.ts";

/** `timeoutMs`: of each; null for as long as the build has. */
export function plannedRows(
  { id, org_id }: Pick<BuildRow, "id" | "org_id">,
  plan: BuildPlan,
  timeoutMs: number | null,
): NewStep[] {
  return plan.steps.map(({ kind, name, command, env, inputs }, index) => ({
    ...{ build_id: id, org_id, index, kind, name, command },
    env: JSON.stringify(env),
    inputs: JSON.stringify(inputs),
    timeout_ms: timeoutMs,
    execution: newId("execution"),
    exit_code: null,
  }));
}
