// Where a saved guest goes that has to leave its host: to the one with most room on which it could go on.

import { randomBytes } from "node:crypto";
import { kindOf } from "@skerry/contract/ids";
import { findSize, type Size } from "@skerry/contract/sizes";
import { place, placeSaved } from "@skerry/contract/hosts/placement";
import { awaitTemplate, notBrought, TEMPLATE_WAIT_MS } from "../capacity/await-template.ts";
import type { Context } from "../context.ts";
import { faultBetween, type AwaitedTemplate, type Departure } from "./begin-move.ts";
import { compatibilitiesOf, recentFailures, type DrainingHost, type MoveRow } from "./move-store.ts";
import { templatePlaces, waitsForTemplate } from "./template-places.ts";
import { insertSavedMove, type MovableSaved } from "./saved-move-store.ts";
import type { HostLoad } from "../capacity/capacity-rows.ts";

export interface SavedNeeds {
  /** Of what it was saved on, where that is not known of itself. */
  readonly compatibility: DrainingHost["compatibility"];
  /** What has to be free at its target now; absent: nothing. */
  readonly room?: Size;
  /** Writes the move to this host; default: `insertSavedMove`. */
  readonly insert?: (toHostId: string, ticket: string) => Promise<MoveRow | undefined>;
}

export async function beginSavedMove(
  context: Context,
  saved: MovableSaved,
  { compatibility, room, insert = insertInto(context, saved) }: SavedNeeds,
): Promise<Departure> {
  const size = findSize(saved.size);
  if (size === undefined) return waits(saved, `its size "${saved.size}" is unknown`);
  await context.hostCapacity.refreshNow();
  const others = context.hostCapacity.hosts.filter(({ id }) => id !== saved.host_id);
  const failed = await recentFailures(context.db, saved.id);
  const { fitting, fault } = await fittingHosts(context, others, {
    runsOn: saved.runs_on ?? compatibility,
    failed,
  });
  const { vcpusPerCpu } = context.limits;
  const roomIn = (hosts: readonly HostLoad[]): readonly string[] =>
    room === undefined ? placeSaved(hosts, size, vcpusPerCpu) : withRoom(hosts, room, vcpusPerCpu);
  const { having, bring } = await templatePlaces(context, saved.template, fitting);
  const [toHostId] = roomIn(having);
  if (toHostId !== undefined) {
    const ticket = randomBytes(32).toString("hex");
    const move = await insert(toHostId, ticket);
    return move === undefined ? { kind: "left" } : { kind: "begun", move };
  }
  if (others.length === 0) return waits(saved, "no other host is online");
  const lacking = roomIn(fitting.filter((host) => !having.includes(host)));
  if (lacking.length > 0) {
    const bringing = await bring(lacking);
    return { ...waits(saved, waitsForTemplate(bringing)), template: { bringing, lacking } };
  }
  return waits(saved, fault ?? `no other host is large enough for the size "${size.name}"`);
}

function insertInto({ db }: Context, saved: MovableSaved): NonNullable<SavedNeeds["insert"]> {
  return (toHostId, ticket) => insertSavedMove(db, saved, { toHostId, ticket });
}

interface Together {
  readonly hostId: string;
  /** Name of a built-in one, id of another. */
  readonly template: string;
  readonly size: Size;
  readonly count?: number;
}

/** Other hosts that have room for so many VMs that could run on this one, best first. Where only hosts that lack their template have room, it is brought
 *  to one of them and waited for. Throws `template_not_ready`. */
export async function hostsWithRoom(context: Context, together: Together): Promise<readonly string[]> {
  const endMs = performance.now() + TEMPLATE_WAIT_MS;
  for (;;) {
    const { found, template } = await lookForRoom(context, together);
    if (template === undefined || !(await isBrought(context, template, endMs))) return found;
  }
}

interface RoomElsewhere {
  readonly found: readonly string[];
  readonly template?: AwaitedTemplate;
}

async function lookForRoom(
  context: Context,
  { hostId, template, size, count = 1 }: Together,
): Promise<RoomElsewhere> {
  await context.hostCapacity.refreshNow();
  const others = context.hostCapacity.hosts.filter(({ id }) => id !== hostId);
  const runsOn = (await compatibilitiesOf(context.db, [hostId])).get(hostId) ?? {};
  const { fitting } = await fittingHosts(context, others, { runsOn, failed: new Map() });
  const all = { ...size, vcpus: size.vcpus * count, memory_mib: size.memory_mib * count };
  const { having, bring } = await templatePlaces(context, template, fitting);
  const found = withRoom(having, all, context.limits.vcpusPerCpu);
  if (found.length > 0) return { found };
  const lacking = withRoom(fitting, all, context.limits.vcpusPerCpu);
  return lacking.length === 0 ? { found } : { found, template: { bringing: await bring(lacking), lacking } };
}

/** Waits for it. True where it is worth to look again; false where it cannot be brought. Throws `template_not_ready`. */
export async function isBrought(
  context: Context,
  { bringing, lacking }: AwaitedTemplate,
  endMs: number,
): Promise<boolean> {
  if (bringing.kind === "unreachable") return false;
  const { id } = bringing;
  if (bringing.kind === "failed") throw notBrought(id, bringing.reason);
  await awaitTemplate(context, { id, name: id, hostId: bringing.hostId, lacking }, endMs);
  return true;
}

function withRoom(hosts: readonly HostLoad[], room: Size, vcpusPerCpu: number): readonly string[] {
  const placement = place(hosts, room, vcpusPerCpu);
  return placement.kind === "candidates" ? placement.hostIds : [];
}

interface Fitting {
  readonly runsOn: DrainingHost["compatibility"];
  /** Hosts that could not take it lately, and why. */
  readonly failed: ReadonlyMap<string, string>;
}

async function fittingHosts(
  { db }: Context,
  others: readonly HostLoad[],
  { runsOn, failed }: Fitting,
): Promise<{ readonly fitting: readonly HostLoad[]; readonly fault: string | undefined }> {
  const ids = others.map((host) => host.id);
  const compatibilities = await compatibilitiesOf(db, ids);
  const faults = ids.map((host) => failed.get(host) ?? faultBetween(runsOn, compatibilities.get(host)));
  return {
    fitting: others.filter((_host, index) => faults[index] === undefined),
    fault: faults.find((fault) => fault !== undefined),
  };
}

function waits({ id }: MovableSaved, why: string): Departure & { readonly kind: "waits" } {
  const what = kindOf(id) === "snapshot" ? "the snapshot" : "the paused sandbox";
  return { kind: "waits", waitsFor: `${what} ${id} has nowhere to go: ${why}` };
}
