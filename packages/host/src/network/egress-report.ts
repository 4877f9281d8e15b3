// Parses nft's JSON of a slot's base table into the report for the owner of the VM.

import type { EgressCounters, EgressDenial } from "@skerry/contract/vms/egress";
import { Type, type Static } from "typebox";
import { Compile } from "typebox/compile";
import { DENIAL_MEMORY_S, denialSets } from "./base-rules.ts";
import { DNS_PORT } from "./guest-link.ts";
import { packetRules, type DenyRule } from "./packet-marks.ts";

const Traffic = Type.Object({ packets: Type.Integer(), bytes: Type.Integer() });
const CounterObject = Type.Object({ name: Type.String(), ...Traffic.properties });
const Element = Type.Object({
  elem: Type.Object({
    val: Type.Object({ concat: Type.Array(Type.Union([Type.String(), Type.Integer()])) }),
    expires: Type.Integer(),
    counter: Traffic,
  }),
});
const SetObject = Type.Object({ name: Type.String(), elem: Type.Optional(Type.Array(Type.Unknown())) });
const Listing = Type.Object({ nftables: Type.Array(Type.Record(Type.String(), Type.Unknown())) });
type Element = Static<typeof Element>;

const isListing = Compile(Listing);
const isCounter = Compile(CounterObject);
const isSet = Compile(SetObject);
const isElement = Compile(Element);

const DENIALS_MAX = 256;
const SECOND_MS = 1_000;

export interface TrafficReport {
  readonly counters: EgressCounters;
  /** Newest first. */
  readonly denied: EgressDenial[];
}

export function readEgressReport(listing: unknown, nowMs: number): TrafficReport {
  if (!isListing.Check(listing)) throw new Error("nft printed something that is no table");
  const counters = new Map<string, Static<typeof Traffic>>();
  const elements = new Map<string, Element[]>();
  for (const object of listing.nftables) {
    const { counter, set } = object;
    if (isCounter.Check(counter)) counters.set(counter.name, counter);
    if (isSet.Check(set))
      elements.set(
        set.name,
        (set.elem ?? []).filter((one) => isElement.Check(one)),
      );
  }
  const sent = counters.get("sent");
  const received = counters.get("received");
  if (sent === undefined || received === undefined) throw new Error("a slot's table has no counters");
  const denied = packetRules.flatMap((rule) => {
    const { ports, others } = denialSets(rule);
    return [...(elements.get(ports) ?? []), ...(elements.get(others) ?? [])].map((one) =>
      denial(rule, one, nowMs),
    );
  });
  return {
    counters: {
      bytes_out: sent.bytes,
      packets_out: sent.packets,
      bytes_in: received.bytes,
      packets_in: received.packets,
    },
    denied: newest(denied),
  };
}

/** The last ones, newest first. */
export function newest<Told extends Dated>(told: readonly Told[]): Told[] {
  return told.toSorted(newestFirst).slice(0, DENIALS_MAX);
}

interface Dated {
  readonly last_at: string;
  readonly address?: string;
}

function denial(rule: DenyRule, { elem }: Element, nowMs: number): EgressDenial {
  const [address = "", protocol = "", port = 0] = elem.val.concat;
  const agoMs = Math.max(0, DENIAL_MEMORY_S - elem.expires) * SECOND_MS;
  return {
    address: String(address),
    protocol: String(protocol),
    // A query that was on its way to the forwarder carries the forwarder's port.
    port: rule === "dns" ? DNS_PORT : Number(port),
    rule,
    count: elem.counter.packets,
    last_at: new Date(nowMs - agoMs).toISOString(),
  };
}

function newestFirst(one: Dated, other: Dated): number {
  if (one.last_at !== other.last_at) return one.last_at < other.last_at ? 1 : -1;
  return (one.address ?? "") < (other.address ?? "") ? -1 : 1;
}
