// The log of the life of a sandbox or a machine.

import { PageQuery } from "@skerry/contract/page";
import { VmEventList } from "@skerry/contract/vms/events";
import type { Operation } from "../../api/operation.ts";
import type { VmKind } from "../vm-kind.ts";
import { vmPath } from "../vm-path.ts";

export function listEventsOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "GET",
    path: `/v1/${table}/:id/events`,
    tag: table,
    summary: `List the events of a ${noun}`,
    description: `What has become of it, and why, newest first; also when it is destroyed, for 30 days. The last 500 are kept. What its egress rules refuse is asked of its host when the list is read, at most once in 10 s.`,
    ...vmPath(kind),
    query: PageQuery,
    answers: { 200: VmEventList },
    access: { scope: `${table}:read`, role: "viewer", rate: "read" },
    audit: { action: `${noun}.event.list`, resource: noun },
    errors: [`${noun}_not_found`],
  } as const satisfies Operation;
}
