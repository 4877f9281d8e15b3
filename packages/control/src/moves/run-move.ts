// One move from its row to its end. Every step can be taken again, by the replica that comes after one that died: hosts know what they have done by
// the move's id and the execution ids. Only `switchHost` decides, in the database, when both hosts have said that all is there; until
// then a failure leaves the VM where it is, and from then on it is the target's.

import { kindOf } from "@skerry/contract/ids";
import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError, type ErrorCode } from "@skerry/contract/errors";
import type { VmManifest } from "@skerry/contract/host-api/move-calls";
import type { HostClient } from "../host-client/host-client.ts";
import { isDatabaseOutage } from "../db/database.ts";
import { LeaseLostError } from "../db/fence.ts";
import { hostAddress } from "../hosts/host-rows.ts";
import {
  findMove,
  findVm,
  proceed,
  switchHost,
  whyUnwanted,
  type MovableVm,
  type MoveRow,
} from "./move-store.ts";
import { recordOwnActs } from "../audit/audit-log.ts";
import type { Context } from "../context.ts";
import { peerAddress } from "../hosts/peer-address.ts";
import { hostEgress } from "../organizations/private-cidrs.ts";

/** How soon it is noticed that an operator has changed his mind, or that a host is not heard of any more. */
const WANTED_LOOK_MS = 500;

/** Undefined: the host has been removed and is not asked any more. */
interface Ends {
  readonly source: HostClient | undefined;
  readonly target: HostClient | undefined;
  /** Where the source reaches the target. */
  readonly targetAddress: string | undefined;
}

/** Resolves when the move has ended, well or not. Rejects where it can only be carried on later. */
export async function runMove(
  context: Context,
  move: MoveRow,
  { service, stop }: { readonly service: string; readonly stop: AbortSignal },
): Promise<MoveRow> {
  const ends = await endsOf(context, move);
  let current: MoveRow | undefined = move;
  for (;;) {
    switch (current.status) {
      case "preparing":
      case "sending":
        current = await send(context, current, { ends, service, stop });
        break;
      case "resuming":
        current = await resume(context, current, ends, stop);
        break;
      case "canceling":
        current = await giveUp(context, current, ends, stop);
        break;
      case "done":
      case "canceled":
      case "failed":
        return current;
    }
    // Another writer was first: what it wrote counts.
    current ??= await findMove(context.db, move.id);
    if (current === undefined) throw new Error(`the move ${move.id} has gone`);
  }
}

interface Sending {
  readonly ends: Ends;
  readonly service: string;
  readonly stop: AbortSignal;
}

async function send(context: Context, move: MoveRow, sending: Sending): Promise<MoveRow | undefined> {
  const { service, stop } = sending;
  const unwanted = abortUnwanted(context, move, stop);
  let sent: MoveRow | undefined;
  try {
    sent = await transfer(context, move, sending, unwanted.signal);
  } catch (error) {
    if (stop.aborted || isOurs(error)) throw error;
    context.log.warn({ err: error, move_id: move.id, vm_id: move.vm_id }, "a move broke off");
    const seen = await findMove(context.db, move.id);
    if (seen?.status !== "preparing" && seen?.status !== "sending") return seen;
    return proceed(context.db, seen, "canceling", `failed: ${reasonOf(error)}`);
  } finally {
    unwanted.abort();
  }
  // Lost to a cancel, which has been noticed only now.
  if (sent === undefined) return undefined;
  return decide(context, sent, service);
}

/** Everything to the target; the VM stands still when it resolves. */
async function transfer(
  context: Context,
  move: MoveRow,
  { ends }: Sending,
  stop: AbortSignal,
): Promise<MoveRow | undefined> {
  const { vm_id: id, ticket } = move;
  const { source, target, targetAddress } = ends;
  if (source === undefined || target === undefined || targetAddress === undefined) throw apart();
  const vm = await findVm(context.db, id);
  if (!isAtSource(vm, move)) throw new SkerryError("vm_not_running", "the VM does not run there any more");
  const manifest = await source.moves.manifest(id, move.from_execution_id, stop);
  if (!describes(manifest, vm)) throw new SkerryError("move_refused", "the source describes another VM");
  const { egress_version } = vm;
  const egress = await hostEgress(context.db, vm);
  const order = {
    move_id: move.id,
    execution_id: move.to_execution_id,
    ticket,
    egress,
    egress_version,
    manifest,
  };
  const { layers } = await target.moves.prepare(id, order, stop);
  const sending = move.status === "sending" ? move : await proceed(context.db, move, "sending");
  if (sending === undefined) return undefined;
  const departed = await source.moves.send(
    id,
    { move_id: move.id, execution_id: move.from_execution_id, address: targetAddress, ticket, layers },
    stop,
  );
  await target.moves.whole(id, move.to_execution_id, stop);
  context.log.info({ move_id: move.id, vm_id: id, ...departed }, "a VM has been sent to another host");
  return sending;
}

/** Room was taken for what the row says, and a source may lie. */
function describes({ size, disk_gib, machine }: VmManifest, vm: MovableVm): boolean {
  return (
    size === vm.size && disk_gib <= vm.disk_gib && (machine !== undefined) === (kindOf(vm.id) === "machine")
  );
}

function isAtSource(vm: MovableVm | undefined, move: MoveRow): vm is MovableVm {
  return (
    vm?.status === "running" && vm.host_id === move.from_host_id && vm.execution_id === move.from_execution_id
  );
}

/** The only moment that counts. */
async function decide(context: Context, move: MoveRow, service: string): Promise<MoveRow | undefined> {
  const decided = context.db.transaction().execute(async (transaction) => {
    const vm = await switchHost(transaction, move);
    // It was destroyed or stopped, or one of the hosts was taken for dead.
    if (vm === undefined)
      return proceed(transaction, move, "canceling", "the VM has ended, or the target is lost");
    const resuming = await proceed(transaction, move, "resuming");
    if (resuming === undefined) throw new Overtaken();
    const resource = kindOf(move.vm_id) === "machine" ? "machine" : "sandbox";
    await recordOwnActs(transaction, { service, action: `${resource}.move`, resource }, [vm]);
    return resuming;
  });
  return decided.catch((error: unknown) => {
    if (error instanceof Overtaken) return undefined;
    throw error;
  });
}

/** The move was canceled a moment before; nothing of the transaction holds. */
class Overtaken extends Error {
  override readonly name = "Overtaken";
}

async function resume(
  context: Context,
  move: MoveRow,
  { source, target }: Ends,
  stop: AbortSignal,
): Promise<MoveRow | undefined> {
  const vm = await findVm(context.db, move.vm_id);
  // Also where it is to be stopped, or was taken for lost: only what runs can be stopped or found again.
  if (vm !== undefined && !past.has(vm.status) && vm.execution_id === move.to_execution_id) {
    const { egress_version } = vm;
    const egress = await hostEgress(context.db, vm);
    const order = { execution_id: move.to_execution_id, egress, egress_version };
    await target?.moves.resume(move.vm_id, order, stop).catch((error: unknown) => {
      // Where the VM has ended, VM cleanup says so; after any other error this step is tried again.
      if (!(error instanceof SkerryError) || !ended.has(error.code)) throw error;
      context.log.warn({ err: error, vm_id: move.vm_id }, "a VM did not go on where it was moved to");
      context.wake("vm-cleanup");
    });
  }
  const old = { id: move.vm_id, execution_id: move.from_execution_id };
  await source?.destroyVm(old, stop).catch((error: unknown) => {
    // No row names it any more, so it is removed when its host is back.
    context.log.warn({ err: error, vm_id: move.vm_id }, "a source could not be cleared up yet");
    context.wake("vm-cleanup");
  });
  return proceed(context.db, move, "done");
}

/** Statuses in which it should not go on. */
const past: ReadonlySet<string> = new Set(["destroying", "destroyed"]);

/** What a host says of a VM that was on its way and is not there any more. */
const ended: ReadonlySet<ErrorCode> = new Set([
  "vm_not_found",
  "vm_not_running",
  "stale_execution",
  "move_failed",
  "guest_failed",
]);

/** The target first: what it holds can never run again when the source goes on. */
async function giveUp(
  context: Context,
  move: MoveRow,
  { source, target }: Ends,
  stop: AbortSignal,
): Promise<MoveRow | undefined> {
  const end = move.reason?.startsWith("failed") === true ? "failed" : "canceled";
  const removed = target
    ?.destroyVm({ id: move.vm_id, execution_id: move.to_execution_id }, stop)
    .catch((error: unknown) => {
      // It was never told to run, and is removed when its host is back.
      context.log.warn({ err: error, vm_id: move.vm_id }, "a target could not be cleared up yet");
    });
  const vm = await findVm(context.db, move.vm_id);
  if (vm?.execution_id === move.from_execution_id) await source?.moves.stay(move.vm_id, move.id, stop);
  await removed;
  return proceed(context.db, move, end);
}

/** Its signal comes when the move cannot or should not get anywhere, also where another replica knows. Hosts are silent for as long as their
 *  largest VM takes, so it is their heartbeats that tell. */
function abortUnwanted(context: Context, move: MoveRow, stop: AbortSignal): AbortController {
  const controller = new AbortController();
  const { signal } = controller;
  const forward = (): void => controller.abort(stop.reason);
  stop.addEventListener("abort", forward, { once: true });
  signal.addEventListener("abort", () => stop.removeEventListener("abort", forward), { once: true });
  const look = async (): Promise<void> => {
    while (!signal.aborted) {
      await sleep(WANTED_LOOK_MS, undefined, { signal });
      const why = await whyUnwanted(context.db, move.id);
      if (why !== undefined) controller.abort(new SkerryError("canceled", why));
    }
  };
  // A database that is away is noticed by the move itself.
  look().catch(() => undefined);
  return controller;
}

async function endsOf(context: Context, move: MoveRow): Promise<Ends> {
  const [from, to, peer] = await Promise.all([
    hostAddress(context.db, move.from_host_id),
    hostAddress(context.db, move.to_host_id),
    peerAddress(context.db, move.from_host_id, move.to_host_id),
  ]);
  return {
    source: from === undefined ? undefined : context.hosts.client(from),
    target: to === undefined ? undefined : context.hosts.client(to),
    targetAddress: peer,
  };
}

function apart(): SkerryError {
  return new SkerryError(
    "host_unreachable",
    "the two hosts cannot reach each other; `SKERRY_HOST_LISTEN` lets the host beside control be reached",
  );
}

/** The move has not failed, we have. */
function isOurs(error: unknown): boolean {
  return error instanceof LeaseLostError || isDatabaseOutage(error);
}

function reasonOf(error: unknown): string {
  return error instanceof SkerryError ? error.message : "internal error";
}
