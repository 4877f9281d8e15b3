// Room for a VM: found among what hosts had free a moment ago, and taken in one transaction that locks its organization and its host, so
// that no number of replicas together promises anything twice.

import { SkerryError } from "@skerry/contract/errors";
import type { Template } from "@skerry/contract/templates/template";
import type { Size } from "@skerry/contract/sizes";
import type { Queries } from "../db/database.ts";
import { lockCapacity, type HostLoad, type LockedCapacity } from "./capacity-store.ts";
import type { Context } from "../context.ts";
import { loaded } from "./host-capacity.ts";
import { fits, place } from "@skerry/contract/hosts/placement";
import { checkQuotas, type Amounts } from "./check-quotas.ts";
import { findTemplate, hostsWithTemplate } from "../templates/templates.ts";

export { lockCapacity, type HostLoad } from "./capacity-store.ts";

export interface PlacementRequest {
  readonly orgId: string;
  /** Name or id. */
  readonly template: string;
  readonly size: Size;
  /** What counts beside the memory and the CPUs of the size. */
  readonly quotas: (template: Template) => Partial<Amounts>;
  /** The only host that will do. */
  readonly on?: string;
}

/** What was found, under lock. */
export interface Found {
  /** As the host has it. */
  readonly template: Template;
  readonly host: HostLoad;
  readonly egress: LockedCapacity["egress"];
}

export interface Reservation<Row> {
  readonly row: Row;
  /** Of the host. */
  readonly address: string;
}

const NO_CAPACITY_RETRY_S = 10;
/** More hosts in a row that filled up within a second are a fleet that is full. */
const TRIES_MAX = 8;

/** `write` makes the row that holds the room, in the transaction. Throws `quota_exceeded`, `unknown_template`, `size_too_large`,
 *  `no_capacity` or `host_unavailable`. */
export async function reserve<Row>(
  context: Context,
  request: PlacementRequest,
  write: (transaction: Queries, found: Found) => Promise<Row>,
): Promise<Reservation<Row>> {
  await context.hostCapacity.refresh();
  const recently = candidates(context, request, context.hostCapacity.hosts);
  const first = recently instanceof SkerryError ? undefined : await tryAll(context, request, recently, write);
  if (first !== undefined) return first;
  // A request must not be refused because of figures that are out of date.
  await context.hostCapacity.refreshNow();
  const now = candidates(context, request, context.hostCapacity.hosts);
  if (now instanceof SkerryError) throw now;
  const second = await tryAll(context, request, now, write);
  if (second !== undefined) return second;
  throw noCapacity(request, "Others took what was free.");
}

/** Hosts to try, best first. */
function candidates(
  context: Context,
  request: PlacementRequest,
  online: readonly HostLoad[],
): readonly string[] | SkerryError {
  const usable = online.filter(({ id }) => (request.on ?? id) === id);
  const hosts = hostsWithTemplate(usable, request.template);
  if (hosts instanceof SkerryError) return hosts;
  const placement = place(hosts, request.size, context.limits.vcpusPerCpu);
  if (placement.kind === "candidates") return placement.hostIds;
  if (placement.kind === "too_large") return tooLarge(request, placement.largestMemoryMib);
  const { lackMemory, lackCpus } = placement;
  const lacks = [lackMemory > 0 ? "memory" : "", lackCpus > 0 ? "CPUs" : ""].filter((what) => what !== "");
  return noCapacity(
    request,
    request.on === undefined
      ? `Of ${hosts.length} hosts, ${lackMemory} lack memory and ${lackCpus} lack CPUs.`
      : `The host that has its disk lacks ${lacks.join(" and ")}.`,
  );
}

async function tryAll<Row>(
  context: Context,
  request: PlacementRequest,
  hostIds: readonly string[],
  write: (transaction: Queries, found: Found) => Promise<Row>,
): Promise<Reservation<Row> | undefined> {
  for (const hostId of hostIds.slice(0, TRIES_MAX)) {
    using _pending = context.hostCapacity.hold(hostId, request.size);
    const reserved = await context.db.transaction().execute(async (transaction) => {
      const capacity = await lockCapacity(transaction, request.orgId, hostId);
      const { host, egress } = capacity;
      context.hostCapacity.saw(hostId, host);
      const template = host && findTemplate(host.templates, request.template);
      if (host === undefined || template === undefined) return undefined;
      const { vcpus, memory_mib } = request.size;
      checkQuotas(context, capacity, { ...request.quotas(template), vcpus, memory_mib });
      if (!fits(host, request.size, context.limits.vcpusPerCpu)) return undefined;
      return { host, row: await write(transaction, { template, host, egress }) };
    });
    if (reserved === undefined) continue;
    context.hostCapacity.saw(hostId, loaded(reserved.host, request.size));
    return { row: reserved.row, address: reserved.host.address };
  }
  return undefined;
}

function tooLarge({ size }: PlacementRequest, largestMemoryMib: number): SkerryError {
  return new SkerryError("size_too_large", `No host is large enough for the size "${size.name}".`, {
    remediation: `The largest host gives ${largestMemoryMib} MiB to VMs; choose a smaller size.`,
    context: { field: "size", value: size.name, memory_mib: size.memory_mib },
  });
}

function noCapacity({ size }: PlacementRequest, why: string): SkerryError {
  return new SkerryError("no_capacity", `There is no room for the size "${size.name}" now. ${why}`, {
    remediation: "Destroy what you no longer need, or try again later.",
    retryAfterS: NO_CAPACITY_RETRY_S,
    context: { size: size.name, memory_mib: size.memory_mib },
  });
}
