// The one place where a name becomes an address to connect to.

import { refusalOfAddress, refusalOfName } from "./decide-name.ts";
import type { Destination, Guest } from "./guests.ts";

export type Way =
  | { readonly kind: "open"; readonly to: Destination }
  | { readonly kind: "refused"; readonly why: string }
  /** The name leads nowhere now; nothing was denied. */
  | { readonly kind: "unknown"; readonly why: string };

/** Decides by the policy that holds when the name servers have answered. `name` is canonical. What is refused is remembered. */
export async function findWay(guest: Guest, name: string, port: number): Promise<Way> {
  const early = refusalOfName(guest.policy, name);
  if (early !== undefined) return refuse(guest, { rule: early, name, port });
  const resolved = await guest.resolver.resolve(name);
  const rule = refusalOfName(guest.policy, name);
  if (rule !== undefined) return refuse(guest, { rule, name, port });
  if (resolved === undefined) return { kind: "unknown", why: `no name server answers for ${name}` };
  const [first] = resolved.addresses;
  if (first === undefined) return { kind: "unknown", why: `${name} has no IPv4 address` };
  const open = resolved.addresses.filter(
    (address) => refusalOfAddress(guest.policy, address, "connection") === undefined,
  );
  const address = open[Math.floor(Math.random() * open.length)];
  if (address !== undefined) return { kind: "open", to: { name, address } };
  const refusal = refusalOfAddress(guest.policy, first, "connection") ?? "never";
  return refuse(guest, { rule: refusal, name, port, address: first });
}

interface Refused {
  readonly rule: NonNullable<ReturnType<typeof refusalOfName>>;
  readonly name: string;
  readonly port: number;
  readonly address?: string;
}

function refuse(guest: Guest, refused: Refused): Way {
  guest.refuse({ ...refused, protocol: "tcp" });
  return { kind: "refused", why: `${refused.name} is denied by the egress rule ${refused.rule}` };
}
