// The part of the host API that reaches the ports of a guest.
//
//   GET /vms/{id}/ports?execution_id=             ListeningPorts: what listens in the guest
//   GET /vms/{id}/ports/{port}?execution_id=      `Upgrade: skerry-port`
//
// After the upgrade both sides send frames of `frames.ts`, stream 1. The host's first is HEAD `{}` when the guest has accepted, or RESET.
// DATA is what goes to the port or comes from it, CLOSE is the end of that direction, and RESET (ErrorBody) ends both at once. The host
// closes the connection when the guest has everything; one that is closed before was cut off, which neither a unix socket nor TLS could say
// of raw bytes. What control sends costs credit:
// WINDOW_BYTES, and more as the host's WINDOW frames grant it, so that the host reads on, and hears of control's end, while a guest does not.

import { Type, type Static } from "typebox";

const closed = { additionalProperties: false } as const;

/** Name of the protocol that a connection to a port is upgraded to. */
export const PORT_PROTOCOL = "skerry-port";

export const ListeningPort = Type.Object(
  {
    port: Type.Integer({ minimum: 1, maximum: 65_535 }),
    address: Type.String({ maxLength: 50 }),
    /** As its program calls itself; empty where that is not known. */
    process: Type.String({ maxLength: 50 }),
  },
  closed,
);
export type ListeningPort = Static<typeof ListeningPort>;

export const ListeningPorts = Type.Object(
  { items: Type.Array(ListeningPort, { maxItems: 1_024 }), truncated: Type.Boolean() },
  closed,
);
export type ListeningPorts = Static<typeof ListeningPorts>;
