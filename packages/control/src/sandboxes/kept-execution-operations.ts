import { Type } from "typebox";
import { PageQuery } from "@skerry/contract/page";
import { KeptExecutionList, KeptOutput, KeptOutputQuery } from "@skerry/contract/vms/kept-execution";
import type { Operations } from "../api/operation.ts";
import { inVmErrors } from "../vms/vm-errors.ts";
import { sandboxVms } from "./sandbox-vms.ts";

/** Output that `skerry run` leaves behind. It is as secret as what `execute` answers. */
export const keptExecutionOperations = {
  listKeptExecutions: {
    surface: "v1",
    method: "GET",
    path: "/v1/executions",
    client: "executions.list",
    tag: "sandboxes",
    summary: "List executions whose output is kept",
    description:
      "Those that were started with `keep_output` or `destroy_sandbox`, newest first: while they run, and for a day after they have ended, also when their sandbox is gone. An organization keeps 1,000 that have ended, and 64 MiB of their output.",
    query: PageQuery,
    answers: { 200: KeptExecutionList },
    access: { scope: "sandboxes:execute", role: "member", rate: "read" },
    audit: { action: "execution.list", resource: "execution" },
    errors: [],
  },
  getKeptExecution: {
    surface: "v1",
    method: "GET",
    path: "/v1/executions/:id",
    client: "by hand",
    tag: "sandboxes",
    summary: "Get an execution whose output is kept",
    description: "With its output, of one that runs so far.",
    params: Type.Object({ id: Type.String({ description: "Id of the execution." }) }),
    query: KeptOutputQuery,
    answers: { 200: KeptOutput },
    access: { scope: "sandboxes:execute", role: "member", rate: "read" },
    audit: { action: "execution.get", resource: "execution" },
    errors: ["execution_not_found", ...inVmErrors(sandboxVms)],
  },
} as const satisfies Operations;
