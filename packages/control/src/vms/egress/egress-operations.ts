// What a microVM may reach, and what it tried.

import { EgressReport, EgressRequest } from "@skerry/contract/vms/egress";
import type { Operation } from "../../api/operation.ts";
import { egressErrors, inVmErrors } from "../vm-errors.ts";
import type { VmKind } from "../vm-kind.ts";
import { vmPath } from "../vm-path.ts";

export function setEgressOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "PUT",
    path: `/v1/${table}/:id/egress`,
    tag: table,
    summary: `Replace the egress rules of a ${noun}`,
    description: `The ${noun} must be running. The rules are in force when the answer comes. With \`If-Match\` they are replaced only where they still have that version.`,
    ...vmPath(kind),
    body: EgressRequest,
    answers: { 200: EgressReport },
    versioned: true,
    access: { scope: `${table}:write`, role: "member", rate: "write" },
    audit: { action: `${noun}.egress.set`, resource: noun },
    errors: [...inVmErrors(kind), "owned", ...egressErrors],
  } as const satisfies Operation;
}

export function getEgressOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "GET",
    path: `/v1/${table}/:id/egress`,
    tag: table,
    summary: `Show the egress of a ${noun}`,
    description: "Its rules, its traffic and the last destinations that were denied.",
    ...vmPath(kind),
    answers: { 200: EgressReport },
    versioned: true,
    access: { scope: `${table}:read`, role: "viewer", rate: "read" },
    audit: { action: `${noun}.egress.get`, resource: noun },
    errors: inVmErrors(kind),
  } as const satisfies Operation;
}
