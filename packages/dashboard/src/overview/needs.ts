// What a person should look at. Pure.

import type { BackgroundService, Host, Machine } from "@skerry/sdk";
import { shortId } from "../ui/text.ts";
import { serviceCondition, type ServiceCondition } from "../why/service-condition.ts";

interface Told {
  /** The name of what it is about. */
  readonly name: string;
  /** A word that has a shape. */
  readonly status: string;
  readonly text: string;
  /** Where it leads, below `BASE`. */
  readonly to: string;
}

export type Need = Told &
  (
    | { readonly kind: "host"; readonly of: Host }
    | { readonly kind: "machine"; readonly of: Machine }
    | { readonly kind: "background_service"; readonly of: BackgroundService }
  );

export interface Found {
  readonly hosts: readonly Host[];
  /** Those that have failed. */
  readonly machines: readonly Machine[];
  readonly services: readonly BackgroundService[];
}

/** What holds up most comes first. */
export function needsOf({ hosts, machines, services }: Found, nowMs: number): readonly Need[] {
  return [
    ...hosts.flatMap(needOfHost),
    ...machines.map((machine): Need => {
      const { id, name, reason, restarts } = machine;
      const often = restarts === 0 ? "" : `, after ${restarts === 1 ? "1 restart" : `${restarts} restarts`}`;
      return {
        ...{ kind: "machine", of: machine, name: name ?? shortId(id), status: "failed" },
        ...{ text: `${reason ?? "it has ended"}${often}`, to: `/machines/${id}` },
      };
    }),
    ...services.flatMap((service) => needOfService(service, nowMs)),
  ];
}

/** One that is in maintenance is as its operator wants it. */
function needOfHost(host: Host): readonly Need[] {
  const { name, status, waits_for: waits } = host;
  const need = (text: string): readonly Need[] => [
    { kind: "host", of: host, name, status, text, to: `/hosts?status=${status}` },
  ];
  if (status === "offline") return need(waits ?? "not heard of");
  return waits === null || status === "maintenance" ? [] : need(waits);
}

const troubles: Readonly<Partial<Record<ServiceCondition, string>>> = {
  failed: "broke off in its last run",
  late: "is past its time, and no replica has begun it",
  incomplete: "could not do all that it had to",
};

function needOfService(service: BackgroundService, nowMs: number): readonly Need[] {
  const condition = serviceCondition(service, nowMs);
  const text = troubles[condition];
  if (text === undefined) return [];
  const { name } = service;
  return [{ kind: "background_service", of: service, name, status: condition, text, to: "/services" }];
}
