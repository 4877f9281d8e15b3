// The execution of a sandbox or a machine that the user means.

import type { VmCalls } from "@skerry/sdk";
import type { Named, TargetKind } from "../../targets.ts";
import type { VmNoun } from "./vm-noun.ts";

/** More than an agent keeps. */
export const EXECUTIONS_MAX = 500;

/** `id`: of the sandbox or the machine, or its name. */
export function executionTarget({ noun }: VmNoun, vms: VmCalls, id: string, signal: AbortSignal): TargetKind {
  return {
    kind: "execution",
    noun: "execution",
    listCommand: `${noun} executions ${id}`,
    async *list(): AsyncGenerator<Named> {
      const { items } = await vms.listExecutions(id, { limit: EXECUTIONS_MAX }, { signal });
      for (const execution of items) yield { id: execution.id, name: null };
    },
  };
}
