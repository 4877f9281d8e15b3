// Lines that the name proxy sends to its host. A guest may have taken the proxy over, so each is checked and bounded.

import type { Socket } from "node:net";
import { SECRET_NAME_MAX_CHARS } from "@skerry/contract/secrets/secret-bounds";
import { EgressDenial, EgressInjection } from "@skerry/contract/vms/egress";
import { Type } from "typebox";
import { Compile } from "typebox/compile";
import type { NameProxyAnswer, NameProxyOpening } from "./name-proxy-protocol.ts";

/** The denials of one guest are the most that it says at once. */
const LINE_MAX_CHARS = 1_048_576;
const DENIALS_MAX = 1_000;

/** A guest may have taken the proxy over, and what it says is kept. */
const Denied = Type.Object({
  ...EgressDenial.properties,
  address: Type.String({ maxLength: 15 }),
  domain: Type.Optional(Type.String({ maxLength: 253 })),
  protocol: Type.String({ maxLength: 3 }),
  last_at: Type.String({ maxLength: 30 }),
});
const Injected = Type.Object({
  ...EgressInjection.properties,
  host: Type.String({ maxLength: 253 }),
  secret: Type.String({ maxLength: SECRET_NAME_MAX_CHARS }),
  last_at: Type.String({ maxLength: 30 }),
});
const Line = Compile(
  Type.Union([
    Type.Object({ identity: Type.String() }),
    Type.Object({
      opening: Type.Integer(),
      guest: Type.String({ maxLength: 15 }),
      mark: Type.Integer(),
      // They become a part of a script.
      addresses: Type.Array(Type.String({ pattern: "^\\d{1,3}(\\.\\d{1,3}){3}$" }), { maxItems: 32 }),
      ttl_s: Type.Integer({ minimum: 1, maximum: 300 }),
    }),
    Type.Object({
      id: Type.Integer(),
      denied: Type.Optional(Type.Array(Denied, { maxItems: DENIALS_MAX })),
      injected: Type.Optional(Type.Array(Injected, { maxItems: DENIALS_MAX })),
    }),
  ]),
);

/** Ends the connection where a line does not end in time: a guest may have taken the proxy over. */
export function onLine(socket: Socket, take: (line: string) => void): void {
  let held = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    held += text;
    if (text.includes("\n")) {
      const lines = held.split("\n");
      held = lines.pop() ?? "";
      lines.forEach(take);
    }
    if (held.length > LINE_MAX_CHARS) socket.destroy();
  });
}

/** Undefined for what the proxy does not say: a guest may have taken it over. */
export function readLine(
  line: string,
): { identity: string } | NameProxyOpening | NameProxyAnswer | undefined {
  try {
    const said: unknown = JSON.parse(line);
    return Line.Check(said) ? said : undefined;
  } catch {
    return undefined;
  }
}
