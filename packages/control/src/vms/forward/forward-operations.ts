import { Type } from "typebox";
import { FORWARD_PROTOCOL } from "@skerry/contract/vms/forward";
import type { Operation } from "../../api/operation.ts";
import { inVmErrors } from "../vm-errors.ts";
import type { VmKind } from "../vm-kind.ts";
import { vmPath } from "../vm-path.ts";

const ForwardQuery = Type.Object(
  { port: Type.Integer({ minimum: 1, maximum: 65_535, description: "The port that something listens on." }) },
  { additionalProperties: false },
);

export function forwardPortOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "GET",
    path: `/v1/${table}/:id/forward`,
    tag: table,
    summary: `Forward connections to a port of a ${noun}`,
    description:
      `A WebSocket with the subprotocol \`${FORWARD_PROTOCOL}\`, which carries many connections. Each binary message is a frame: its type (one byte), the number of its stream ` +
      "(four bytes, little-endian), and a payload. The client opens a stream, a connection, with type 1, and is answered with type 2 when the guest has accepted. Type 3 is data, " +
      "at most 64 KiB, of which each side may send 256 KiB per stream, and more as type 4 grants it (four bytes, little-endian); 5 is the end of one direction, 6 of both, with an error as JSON " +
      `where the server says it. Stream 0 stands for all: its end is that of the forward. It may last as long as the ${noun}, and does not extend it.`,
    ...vmPath(kind),
    query: ForwardQuery,
    answers: { 101: Type.Null({ description: "The connection is a WebSocket." }) },
    access: { scope: `${table}:execute`, role: "member", rate: "write" },
    audit: { action: `${noun}.port.forward`, resource: noun },
    errors: [...inVmErrors(kind), "port_not_listening", "too_many_streams", "upgrade_required"],
  } as const satisfies Operation;
}
