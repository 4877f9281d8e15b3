// The ports of a sandbox or a machine.

import { Type, type Static } from "typebox";
import { PORTS_MAX } from "../bounds.ts";
import { Nullable } from "../fields.ts";
import { exampleOf, named } from "../named.ts";

const PortNumber = Type.Integer({ minimum: 1, maximum: 65_535 });

export const Port = named(
  "Port",
  {
    port: PortNumber,
    public: Type.Boolean({ description: "Whether requests to it need no token." }),
    listening: Type.Boolean(),
    addresses: Type.Array(Type.String(), {
      description: "Where it listens. Only 127.0.0.1, ::1, 0.0.0.0 and :: are reached from outside.",
    }),
    process: Nullable(Type.String(), {
      description: "The program that listens; null where it is not known.",
    }),
  },
  { port: 3000, public: false, listening: true, addresses: ["0.0.0.0"], process: "node" },
);
export type Port = Static<typeof Port>;

export const PortList = named(
  "PortList",
  {
    items: Type.Array(Port, { description: "Those that something listens on, and those that are public." }),
    truncated: Type.Boolean({ description: `More than ${PORTS_MAX} listen.` }),
  },
  { items: [exampleOf(Port)], truncated: false },
);
export type PortList = Static<typeof PortList>;

export const PortAccess = named(
  "PortAccess",
  { port: PortNumber, public: Type.Boolean() },
  { port: 3000, public: true },
);
export type PortAccess = Static<typeof PortAccess>;

export const PortAccessRequest = named(
  "PortAccessRequest",
  {
    public: Type.Boolean({
      description:
        "True: everybody who knows the id may send requests to the port. False: a token or a signed URL is needed.",
    }),
  },
  { public: true },
);
