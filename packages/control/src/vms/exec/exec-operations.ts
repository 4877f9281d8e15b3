import { Type } from "typebox";
import { ExecQuery } from "@skerry/contract/vms/execution";
import type { Operation } from "../../api/operation.ts";
import { startExecutionErrors } from "../executions/execution-operations.ts";
import { inVmErrors } from "../vm-errors.ts";
import type { VmKind } from "../vm-kind.ts";
import { vmPath } from "../vm-path.ts";
import { CHANNEL_PROTOCOL } from "./channels.ts";

export function execOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "GET",
    path: `/v1/${table}/:id/exec`,
    tag: table,
    summary: `Open a terminal in a ${noun}`,
    description:
      `A WebSocket with the subprotocol \`${CHANNEL_PROTOCOL}\` of Kubernetes: each binary message begins with the number of its channel, 0 stdin, ` +
      "1 stdout, 2 stderr, 3 how it ended (a Kubernetes `Status` as JSON, with the cause `ExitCode`), 4 the size of the terminal " +
      '(`{"Width": 80, "Height": 24}`), 255 the end of the channel whose number follows. A client that does not read has the command wait. ' +
      "Browsers, which can set no header here, offer the token as one more subprotocol, " +
      "`base64url.bearer.authorization.k8s.io.` and the token in base64url. The command ends as by SIGKILL when its client has gone, unless `reattach` gives " +
      "it time to come back, or it is attached to an execution that lives without one.",
    ...vmPath(kind),
    query: ExecQuery,
    answers: { 101: Type.Null({ description: "The connection is a WebSocket." }) },
    access: { scope: `${table}:execute`, role: "member", rate: "write" },
    audit: { action: `${noun}.execute`, resource: noun, isOfPath: true, detail: commandInQuery },
    errors: [
      ...inVmErrors(kind),
      ...startExecutionErrors,
      "execution_not_found",
      "too_many_streams",
      "upgrade_required",
    ],
  } as const satisfies Operation;
}

function commandInQuery({ url }: { readonly url: string }): string | undefined {
  return new URLSearchParams(url.split("?", 2)[1]).get("command") ?? undefined;
}
