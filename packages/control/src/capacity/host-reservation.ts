// Room on one host, for what has its files there already: taken in the same way as any other (see `reservation.ts`), and nowhere else.

import { SkerryError } from "@skerry/contract/errors";
import type { Size } from "@skerry/contract/sizes";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { drainedText, hostDraining } from "../hosts/draining-hosts.ts";
import { findHost } from "../hosts/host-rows.ts";
import { lockCapacity } from "./capacity-rows.ts";
import { checkQuotas, type Amounts } from "./check-quotas.ts";
import { loaded } from "./host-capacity.ts";
import { fits, place } from "@skerry/contract/hosts/placement";
import { tooLarge, type Found, type Reservation } from "./reservation.ts";

export interface HostRequest {
  readonly orgId: string;
  readonly hostId: string;
  readonly size: Size;
  /** VMs of this size; default 1. */
  readonly count?: number;
  /** What counts of each of them beside the memory and the CPUs of the size. */
  readonly quotas?: Partial<Amounts>;
}

const RETRY_S = 10;

/**
 * Reserves room. `write` makes the rows that hold it, in the transaction. Throws `quota_exceeded`,
 * `no_capacity`, `host_unavailable` or `host_draining`.
 */
export async function reserveOn<Row>(
  context: Context,
  { orgId, hostId, size, count = 1, quotas = {} }: HostRequest,
  write: (transaction: Queries, found: Pick<Found, "host" | "egress">) => Promise<Row>,
): Promise<Reservation<Row>> {
  const all = { ...size, vcpus: size.vcpus * count, memory_mib: size.memory_mib * count };
  using _pending = context.hostCapacity.hold(hostId, all);
  const reserved = await context.db.transaction().execute(async (transaction) => {
    const capacity = await lockCapacity(transaction, orgId, hostId);
    const { host, egress } = capacity;
    context.hostCapacity.saw(hostId, host);
    if (host === undefined) return undefined;
    checkQuotas(context, capacity, {
      ...times(quotas, count),
      vcpus: all.vcpus,
      memory_mib: all.memory_mib,
    });
    if (!fits(host, all, context.limits.vcpusPerCpu)) throw full(size, hostId);
    return { host, row: await write(transaction, { host, egress }) };
  });
  if (reserved === undefined) throw await whyNot(context, hostId);
  context.hostCapacity.saw(hostId, loaded(reserved.host, all));
  return { row: reserved.row, address: reserved.host.address };
}

/** Throws `size_too_large` where the host could not hold it if it were empty. */
export async function refuseTooLarge(context: Context, hostId: string, size: Size): Promise<void> {
  await context.hostCapacity.refresh();
  const host = context.hostCapacity.withoutPending.find(({ id }) => id === hostId);
  if (host === undefined) return;
  const placement = place([host], size, context.limits.vcpusPerCpu);
  if (placement.kind === "too_large") throw tooLarge({ size }, placement.largestMemoryMib);
}

function times(amounts: Partial<Amounts>, count: number): Partial<Amounts> {
  return Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, amount * count]));
}

function full({ name, memory_mib }: Size, hostId: string): SkerryError {
  return new SkerryError(
    "no_capacity",
    `There is no room for the size "${name}" now on the host that has its files.`,
    {
      remediation: "Destroy or pause what you do not need now, or try again later.",
      retryAfterS: RETRY_S,
      context: { size: name, memory_mib, host_id: hostId },
    },
  );
}

async function whyNot(context: Context, hostId: string): Promise<SkerryError> {
  const host = await findHost(context.db, hostId);
  const isRemoved = host === undefined || host.removed_at !== null;
  const what = "The host that has its files";
  if (!isRemoved && drainedText(host) !== undefined) return hostDraining(host, what);
  const state = isRemoved ? "removed" : host.status === "online" ? "just coming back" : "offline";
  return new SkerryError("host_unavailable", `${what} is ${state}.`, {
    remediation: isRemoved ? "What was on it is lost." : "Try again later.",
    retryAfterS: RETRY_S,
    context: { host_id: hostId },
  });
}
