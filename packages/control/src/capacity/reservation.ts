// Room for a VM: found among what hosts had free a moment ago, and taken in one transaction that locks its organization and its host, so
// that no number of replicas together promises anything twice.

import { SkerryError, type ErrorCode } from "@skerry/contract/errors";
import type { BuiltInTemplate } from "@skerry/contract/templates/template";
import type { Size } from "@skerry/contract/sizes";
import type { Queries } from "../db/database.ts";
import { lockCapacity, type HostLoad, type LockedCapacity } from "./capacity-rows.ts";
import type { Context } from "../context.ts";
import { loaded } from "./host-capacity.ts";
import { whyNoHost } from "../hosts/draining-hosts.ts";
import { listHostRows } from "../hosts/host-rows.ts";
import { fits, place } from "@skerry/contract/hosts/placement";
import { checkQuotas, type Amounts } from "./check-quotas.ts";
import { findOwnTemplate } from "../templates/own-templates.ts";
import { findTemplate, hostsWithTemplate } from "../templates/templates.ts";
import { TEMPLATE_WAIT_MS } from "./await-template.ts";
import { bringTemplate } from "./bring-template.ts";
import {
  holdTemplate,
  hostsOfTemplate,
  noteTemplateOnHost,
  type OwnTemplateRow,
} from "../templates/own-template-rows.ts";

export interface PlacementRequest {
  readonly orgId: string;
  /** Name or id. */
  readonly template: string;
  readonly size: Size;
  /** What counts beside the memory and the CPUs of the size. */
  readonly quotas: (template: BuiltInTemplate) => Partial<Amounts>;
  /** The only host that will do. */
  readonly on?: string;
  /** Hosts that it should go to where they have room, best first. */
  readonly preferred?: readonly string[];
  /** It goes where there are fewest of its likes. */
  readonly apart?: Apart;
  /** Its disk is there, so the host does not need an organization's own template to go on with it. */
  readonly keepsDisk?: boolean;
}

export interface Apart {
  /** Hosts of its likes, each as often as it has one. */
  readonly hosts: readonly string[];
  /** Likes that are placed before it at the same moment. */
  readonly ahead: number;
}

/** What was found, under lock. */
export interface Found {
  /** As the host has it. One of the organization's own has its id as its name. */
  readonly template: BuiltInTemplate;
  /** Undefined where the template is built in. */
  readonly own: OwnTemplateRow | undefined;
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

/** `write` makes the row that holds the room, in the transaction. Where no host that has an organization's own template has room, it is brought to one that
 *  has, and waited for. Throws `quota_exceeded`, `unknown_template`, `template_lost`, `template_not_ready`, `size_too_large`, `no_capacity` or
 *  `host_unavailable` or `host_draining`. */
export async function reserve<Row>(
  context: Context,
  request: PlacementRequest,
  write: (transaction: Queries, found: Found) => Promise<Row>,
): Promise<Reservation<Row>> {
  const endMs = performance.now() + TEMPLATE_WAIT_MS;
  for (;;) {
    await context.hostCapacity.refresh();
    const wanted = await resolve(context, request);
    try {
      return await reserveNow(context, wanted, write);
    } catch (error) {
      // Others may fill the host that it was brought to.
      if (!isElsewhere(error) || !(await bringTemplate(context, wanted, endMs))) throw error;
    }
  }
}

/** Whether a host that has the template now would change it. */
function isElsewhere(error: unknown): boolean {
  return error instanceof SkerryError && elsewhere.has(error.code);
}

const elsewhere: ReadonlySet<ErrorCode> = new Set([
  "no_capacity",
  "size_too_large",
  "host_unavailable",
  "host_draining",
  // No host has it, and the object store may.
  "template_lost",
]);

async function reserveNow<Row>(
  context: Context,
  wanted: Wanted,
  write: (transaction: Queries, found: Found) => Promise<Row>,
): Promise<Reservation<Row>> {
  const recently = candidates(context, wanted, context.hostCapacity.hosts);
  const first = recently instanceof SkerryError ? undefined : await tryAll(context, wanted, recently, write);
  if (first !== undefined) return first;
  // A request must not be refused because of figures that are out of date, nor of what others try to get: under lock it is seen who was first.
  await context.hostCapacity.refreshNow();
  const now = candidates(context, wanted, context.hostCapacity.withoutPending);
  if (now instanceof SkerryError) throw await explained(context, wanted, now);
  const second = await tryAll(context, wanted, now, write);
  if (second !== undefined) return second;
  throw noCapacity(wanted, "Others took what was free.");
}

/** Says of hosts that are drained that they are. */
async function explained(
  { db }: Context,
  { on, own, keepsDisk = false }: Wanted,
  error: SkerryError,
): Promise<SkerryError> {
  if (error.code !== "host_unavailable") return error;
  const hosts = (await listHostRows(db)).filter(({ id }) => (on ?? id) === id);
  return whyNoHost(
    own === undefined || keepsDisk ? hosts : hosts.filter(({ id }) => own.places.has(id)),
    error,
  );
}

export interface Wanted extends PlacementRequest {
  readonly own: OwnPlaces | undefined;
}

/** The organization's own template that is meant, and the hosts that have it, each with the sizes that are frozen there. */
export interface OwnPlaces {
  readonly row: OwnTemplateRow;
  readonly places: ReadonlyMap<string, readonly string[]>;
}

/** A name of what is built in means that, so most requests ask the database nothing. */
async function resolve(context: Context, request: PlacementRequest): Promise<Wanted> {
  const { hosts } = context.hostCapacity;
  if (hosts.some(({ templates }) => findTemplate(templates, request.template) !== undefined))
    return { ...request, own: undefined };
  const row = await findOwnTemplate(context.db, request.orgId, request.template);
  if (row === undefined) return { ...request, own: undefined };
  return { ...request, own: { row, places: await hostsOfTemplate(context.db, row.id) } };
}

/** As if it were built in, by its id. */
function asBuiltIn({ id, disk_gib }: OwnTemplateRow): BuiltInTemplate {
  return { id, name: id, description: "", disk_gib, status: "ready" };
}

/** Of those that may be used, those that have what is asked for; or why there are none. */
function hostsThatHave(wanted: Wanted, usable: readonly HostLoad[]): readonly HostLoad[] | SkerryError {
  const { own, template } = wanted;
  if (own === undefined) return hostsWithTemplate(usable, template);
  if (own.places.size === 0 && wanted.keepsDisk !== true) return lost(wanted);
  const having = usable.filter(({ id }) => wanted.keepsDisk === true || own.places.has(id));
  if (having.length > 0) return having;
  return new SkerryError("host_unavailable", "No host that has the template is online.", {
    remediation: "Try again when its host is back, or build the template again.",
    retryAfterS: NO_CAPACITY_RETRY_S,
    context: { field: "template", value: template },
  });
}

/** Hosts to try, best first. */
function candidates(
  context: Context,
  request: Wanted,
  online: readonly HostLoad[],
): readonly string[] | SkerryError {
  const usable = online.filter(({ id }) => (request.on ?? id) === id);
  const hosts = hostsThatHave(request, usable);
  if (hosts instanceof SkerryError) return hosts;
  const placement = place(hosts, request.size, context.limits.vcpusPerCpu);
  if (placement.kind === "candidates")
    return preferredFirst(request, frozenFirst(request, apartFirst(request, placement.hostIds)));
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

/** On the others it is frozen while the request waits. */
function frozenFirst({ own, size }: Wanted, hostIds: readonly string[]): readonly string[] {
  if (own === undefined) return hostIds;
  const isFrozen = (id: string): boolean => own.places.get(id)?.includes(size.name) === true;
  return [...hostIds.filter(isFrozen), ...hostIds.filter((id) => !isFrozen(id))];
}

function apartFirst({ apart }: Wanted, hostIds: readonly string[]): readonly string[] {
  if (apart === undefined) return hostIds;
  const likes = new Map(hostIds.map((id) => [id, apart.hosts.filter((one) => one === id).length]));
  const likesOf = (id = ""): number => likes.get(id) ?? 0;
  // Those that are placed at the same moment see hosts in one order, however full these are by then.
  const inOrder = hostIds.toSorted((one, other) => (one < other ? -1 : 1));
  const fewestFirst = () => inOrder.toSorted((one, other) => likesOf(one) - likesOf(other));
  for (let ahead = 0; ahead < apart.ahead; ahead += 1) {
    const [first = ""] = fewestFirst();
    likes.set(first, likesOf(first) + 1);
  }
  return fewestFirst();
}

function preferredFirst({ preferred = [] }: Wanted, hostIds: readonly string[]): readonly string[] {
  const first = preferred.filter((id) => hostIds.includes(id));
  return [...first, ...hostIds.filter((id) => !first.includes(id))];
}

async function tryAll<Row>(
  context: Context,
  request: Wanted,
  hostIds: readonly string[],
  write: (transaction: Queries, found: Found) => Promise<Row>,
): Promise<Reservation<Row> | undefined> {
  for (const hostId of hostIds.slice(0, TRIES_MAX)) {
    using _pending = context.hostCapacity.hold(hostId, request.size);
    const reserved = await context.db.transaction().execute(async (transaction) => {
      const capacity = await lockCapacity(transaction, request.orgId, hostId);
      const { host, egress } = capacity;
      context.hostCapacity.saw(hostId, host);
      const own = request.own?.row;
      if (own !== undefined && !(await holdTemplate(transaction, own.id))) throw deleted(request);
      const template =
        own === undefined ? host && findTemplate(host.templates, request.template) : asBuiltIn(own);
      if (host === undefined || template === undefined) return undefined;
      const { vcpus, memory_mib } = request.size;
      checkQuotas(context, capacity, { ...request.quotas(template), vcpus, memory_mib });
      if (!fits(host, request.size, context.limits.vcpusPerCpu)) return undefined;
      await noteSize(transaction, request, hostId);
      return { host, row: await write(transaction, { template, own, host, egress }) };
    });
    if (reserved === undefined) continue;
    context.hostCapacity.saw(hostId, loaded(reserved.host, request.size));
    return { row: reserved.row, address: reserved.host.address };
  }
  return undefined;
}

/** What is made of it there is frozen there by that. */
async function noteSize(transaction: Queries, { own, size }: Wanted, hostId: string): Promise<void> {
  const sizes = own?.places.get(hostId);
  if (own === undefined || sizes === undefined || sizes.includes(size.name)) return;
  await noteTemplateOnHost(transaction, { templateId: own.row.id, hostId, sizes: [size.name] });
}

/** What runs of it runs on, and nothing more can be made of it. */
function lost({ template }: PlacementRequest): SkerryError {
  return new SkerryError("template_lost", `The only host that had the template "${template}" was removed.`, {
    remediation: "Build the template again.",
    context: { field: "template", value: template },
  });
}

function deleted({ template }: PlacementRequest): SkerryError {
  return new SkerryError("unknown_template", `There is no template "${template}" any more.`, {
    context: { field: "template", value: template },
  });
}

export function tooLarge({ size }: Pick<PlacementRequest, "size">, largestMemoryMib: number): SkerryError {
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
