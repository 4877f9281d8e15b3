// What listens in a sandbox or a machine, and the way there.

import { Type } from "typebox";
import { PortAccess, PortAccessRequest, PortList } from "@skerry/contract/vms/ports";
import type { Operation } from "../../api/operation.ts";
import { ofSignedUrl } from "../signed-urls/signature.ts";
import { portSigned } from "../signed-urls/signed-things.ts";
import { admitVisitor } from "../signed-urls/visitors.ts";
import { inVmErrors } from "../vm-errors.ts";
import type { VmKind } from "../vm-kind.ts";
import { vmPath } from "../vm-path.ts";
import { readPort } from "./port-path.ts";

function portPath(kind: VmKind) {
  const { params, idOf } = vmPath(kind);
  const port = Type.String({ description: "1 to 65535." });
  return { idOf, params: Type.Object({ ...params.properties, port }) };
}

export function listPortsOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "GET",
    path: `/v1/${table}/:id/ports`,
    tag: table,
    summary: `List the ports of a ${noun}`,
    description: "The TCP ports that something listens on, and those that are public.",
    ...vmPath(kind),
    answers: { 200: PortList },
    access: { scope: `${table}:read`, role: "viewer", rate: "read" },
    audit: { action: `${noun}.port.list`, resource: noun },
    errors: inVmErrors(kind),
  } as const satisfies Operation;
}

export function setPortAccessOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "PATCH",
    path: `/v1/${table}/:id/ports/:port`,
    tag: table,
    summary: `Make a port of a ${noun} public or private`,
    description: `A public port needs no token. Something need not listen on it yet. At most 100 ports of a ${noun} are public. To make one public, the token needs the scope \`${table}:execute\` as well, as it does to sign a URL.`,
    ...portPath(kind),
    body: PortAccessRequest,
    answers: { 200: PortAccess },
    access: { scope: `${table}:write`, role: "member", rate: "write" },
    audit: { action: `${noun}.port.update`, resource: noun },
    errors: [`${noun}_not_found`, "owned", "invalid_port", "quota_exceeded"],
  } as const satisfies Operation;
}

export function requestPortOperation(kind: VmKind) {
  const { noun, table } = kind;
  const { idOf, params } = portPath(kind);
  const path = Type.String({
    description: "Path of the request that the guest gets, without its first slash.",
  });
  return {
    surface: "v1",
    method: "ANY",
    path: `/v1/${table}/:id/ports/:port/*`,
    tag: table,
    summary: `Send a request to a port of a ${noun}`,
    description: `Takes every method, any body, and upgrades to WebSocket, and answers what listens on the port in the ${noun} answers. Needs a token, a signed URL, or a port that is public. The guest gets no token of Skerry, wherever it stands, no \`Cookie\` and no signature; an \`Authorization\` or \`X-API-Key\` of its own it gets. The document shows the method GET for all.`,
    idOf,
    params: Type.Object({ ...params.properties, "*": path }),
    body: "bytes",
    answers: {
      200: {
        description: "What the guest answered, with its own status.",
        content: { "application/octet-stream": { schema: Type.String() } },
      },
    },
    answersBytes: true,
    access: {
      scope: `${table}:execute`,
      role: "member",
      rate: "read",
      admit: (context, request, takeTicket) => {
        const { id, port: text } = request.params as { readonly id: string; readonly port: string };
        const port = readPort(text);
        return admitVisitor(context, request, { kind, id, port, what: portSigned(port), takeTicket });
      },
    },
    audit: { action: `${noun}.port.request`, resource: noun },
    errors: [...inVmErrors(kind), "invalid_port", "invalid_path", "port_not_listening", ...ofSignedUrl],
  } as const satisfies Operation;
}
