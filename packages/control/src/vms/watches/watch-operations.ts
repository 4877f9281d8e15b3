import { Type } from "typebox";
import { FileEvent, WatchQuery } from "@skerry/contract/vms/watches";
import type { Operation } from "../../api/operation.ts";
import { filePath, ofPath } from "../files/file-operations.ts";
import { filePathOf } from "../files/file-path.ts";
import { inVmErrors } from "../vm-errors.ts";
import type { VmKind } from "../vm-kind.ts";

export function watchOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "GET",
    path: `/v1/${table}/:id/watch/*`,
    tag: table,
    summary: `Watch a directory of a ${noun}`,
    description:
      "Server-sent events named `start`, `create`, `write`, `remove`, `rename`, `chmod` and `overflow`, each with a `FileEvent`; `keepalive` every 15 s in " +
      "which nothing comes; at the end one `end` where the directory is gone, or one `error` with an `Error`. What changes after `start` is told. A " +
      "client that is slow gets `overflow` in the place of what the guest could not keep, and so does one whose microVM has moved.",
    ...filePath(kind),
    query: WatchQuery,
    answers: {
      200: {
        description: "The events.",
        content: { "text/event-stream": { schema: Type.String() } },
      },
    },
    events: [FileEvent],
    access: { scope: `${table}:execute`, role: "member", rate: "read" },
    audit: { action: `${noun}.directory.watch`, resource: noun, detail: filePathOf },
    errors: [...inVmErrors(kind), ...ofPath, "too_many_watches", "too_many_streams"],
  } as const satisfies Operation;
}
