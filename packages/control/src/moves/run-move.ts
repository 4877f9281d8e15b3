// One move from its row to its end. Every step can be taken again, by the replica that comes after one that died: hosts know what they have done by
// the move's id and the execution ids. Only the switch decides, in the database, when both hosts have said that all is there; until
// then a failure leaves everything where it is, and from then on it is the target's. What the steps do differs: see `move-vm.ts` and `move-saved.ts`.

import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import { isDatabaseOutage } from "../db/database.ts";
import { LeaseLostError } from "../db/fence.ts";
import { saidBy } from "../db/host-failure.ts";
import { isOfHost } from "../host-client/host-errors.ts";
import { hostAddress } from "../hosts/host-rows.ts";
import { savedSteps } from "./move-saved.ts";
import { findMove, isOfSaved, loseVm, proceed, TRIES_MAX, whyUnwanted, type MoveRow } from "./move-store.ts";
import { recordOwnActs } from "../audit/audit-log.ts";
import type { Context } from "../context.ts";
import { peerAddress } from "../hosts/peer-address.ts";
import type { Ends, MoveSteps } from "./move-steps.ts";
import { vmSteps } from "./move-vm.ts";

/** How soon it is noticed that an operator has changed his mind, or that a host is not heard of any more. */
const WANTED_LOOK_MS = 500;

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
        current = await finish(context, current, { ends, service, stop });
        break;
      case "canceling":
        current = await undo(context, current, { ends, service, stop });
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
    return proceed(context.db, seen, "canceling", { reason: `failed: ${reasonOf(error)}` });
  } finally {
    unwanted.abort();
  }
  // Lost to a cancel, which has been noticed only now.
  if (sent === undefined) return undefined;
  return decide(context, sent, service);
}

async function transfer(
  context: Context,
  move: MoveRow,
  { ends }: Sending,
  stop: AbortSignal,
): Promise<MoveRow | undefined> {
  const { source, target, targetAddress } = ends;
  if (source === undefined || target === undefined || targetAddress === undefined) throw apart();
  const { prepare, send } = stepsOf(move);
  const prepared = await prepare(context, move, { source, target }, stop);
  const sending = move.status === "sending" ? move : await proceed(context.db, move, "sending");
  if (sending === undefined) return undefined;
  const departed = await send(move, { source, target, targetAddress, layers: prepared.layers }, stop);
  context.log.info({ move_id: move.id, vm_id: move.vm_id, ...departed }, "sent to another host");
  return sending;
}

async function finish(
  context: Context,
  move: MoveRow,
  { ends, service, stop }: Sending,
): Promise<MoveRow | undefined> {
  try {
    await stepsOf(move).goOn(context, move, ends, stop);
  } catch (error) {
    const hostSays = lastWords(context, move, error);
    if (hostSays === undefined || stop.aborted) throw error;
    return giveUp(context, move, { to: "done", executionId: move.to_execution_id, hostSays, service });
  }
  return proceed(context.db, move, "done");
}

async function undo(
  context: Context,
  move: MoveRow,
  { ends, service, stop }: Sending,
): Promise<MoveRow | undefined> {
  try {
    await stepsOf(move).stay(context, move, ends, stop);
  } catch (error) {
    const hostSays = lastWords(context, move, error);
    if (hostSays === undefined || stop.aborted) throw error;
    return giveUp(context, move, { to: "failed", executionId: move.from_execution_id, hostSays, service });
  }
  return proceed(context.db, move, move.reason?.startsWith("failed") === true ? "failed" : "canceled");
}

interface GivenUp {
  readonly to: "done" | "failed";
  /** That its host should have let go on. */
  readonly executionId: string;
  readonly hostSays: string;
  readonly service: string;
}

/** The move ends. A VM that stands still, because its host does not let it go on, has failed; what was saved
 *  is there all the same. */
async function giveUp(
  context: Context,
  move: MoveRow,
  { to, executionId, hostSays, service }: GivenUp,
): Promise<MoveRow | undefined> {
  const ended = context.db.transaction().execute(async (transaction) => {
    if (!isOfSaved(move)) {
      const reason = `its host did not let it go on after a move: ${hostSays}`;
      const { resource } = stepsOf(move);
      const action = resource === "machine" ? "machine.end" : "sandbox.fail";
      const lost = await loseVm(transaction, { id: move.vm_id, execution_id: executionId }, reason);
      if (lost !== undefined) await recordOwnActs(transaction, { service, action, resource }, [lost]);
    }
    const proceeded = await proceed(transaction, move, to, { hostSays });
    if (proceeded === undefined) throw new Overtaken();
    return proceeded;
  });
  const row = await ended.catch(unlessOvertaken);
  context.wake("vm-cleanup");
  return row;
}

/** The error of a host that has failed at this step for the last time; undefined where it is asked again. */
function lastWords(
  { log }: Context,
  { id, vm_id, status, attempts }: MoveRow,
  error: unknown,
): string | undefined {
  const told = { err: error, move_id: id, vm_id, status };
  if (isOfHost(error) && attempts + 1 >= TRIES_MAX) {
    log.error(told, "a host has failed at a move too often, and is asked no more");
    return saidBy(error);
  }
  if (attempts === 0) log.warn(told, "a move waits for its next attempt");
  return undefined;
}

/** The only moment that counts. */
async function decide(context: Context, move: MoveRow, service: string): Promise<MoveRow | undefined> {
  const { switchHost, resource } = stepsOf(move);
  const decided = context.db.transaction().execute(async (transaction) => {
    const moved = await switchHost(transaction, move);
    // It was destroyed, stopped or resumed, or one of the hosts was taken for dead.
    if (moved === undefined)
      return proceed(transaction, move, "canceling", {
        reason: `the ${resource} has changed, or the target is lost`,
      });
    const resuming = await proceed(transaction, move, "resuming");
    if (resuming === undefined) throw new Overtaken();
    await recordOwnActs(transaction, { service, action: `${resource}.move`, resource }, [moved]);
    return resuming;
  });
  return decided.catch(unlessOvertaken);
}

/** Another writer changed the move a moment before; nothing of the transaction holds. */
class Overtaken extends Error {
  override readonly name = "Overtaken";
}

function unlessOvertaken(error: unknown): undefined {
  if (error instanceof Overtaken) return undefined;
  throw error;
}

function stepsOf(move: MoveRow): MoveSteps {
  return isOfSaved(move) ? savedSteps(move) : vmSteps(move);
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

/** The move has not failed, we have. */
function isOurs(error: unknown): boolean {
  return error instanceof LeaseLostError || isDatabaseOutage(error);
}

function reasonOf(error: unknown): string {
  return error instanceof SkerryError ? error.message : "internal error";
}

function apart(): SkerryError {
  return new SkerryError(
    "host_unreachable",
    "the two hosts cannot reach each other; `SKERRY_HOST_LISTEN` lets the host beside control be reached",
  );
}
