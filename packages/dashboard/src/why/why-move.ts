// Why a move is as it is. A status without a sentence does not compile.

import type { Host, Move } from "@skerry/sdk";
import type { MoveStatus } from "@skerry/contract/moves/move-status";
import { bytesText, shortId } from "../ui/text.ts";
import { ago, sentence, since, type Because, type CommonFacts, type Lead } from "./because.ts";

export interface MoveFacts extends CommonFacts {
  /** Those that are known of the two. */
  readonly from: Host | null;
  readonly to: Host | null;
}

const MIB = 1024 * 1024;

export function whyMove(move: Move, facts: MoveFacts): Because {
  return { text: sentences[move.status](move, facts) + hostNotes(facts), leads: leadsOf(move) };
}

const sentences: Readonly<Record<MoveStatus, (move: Move, facts: MoveFacts) => string>> = {
  preparing: (move, facts) =>
    `Its target ${target(move, facts)} makes room for it, ${room(move)}, and fetches what its disk begins from${lasting(move, facts)}.`,
  sending: (move, facts) =>
    `Its disk and its memory are on their way to ${target(move, facts)}${lasting(move, facts)}; it runs on at ${source(move, facts)} but for the last moment.`,
  resuming: (move, facts) =>
    `All of it is at ${target(move, facts)}, which it belongs to now, and where it goes on; ${source(move, facts)} gives back what it held.`,
  canceling: (move, facts) =>
    `${why(move)} It stays at ${source(move, facts)}, and ${target(move, facts)} gives back what it had made.`,
  done: (move, facts) =>
    `It went from ${source(move, facts)} to ${target(move, facts)} in ${took(move)}, because its host was drained.`,
  canceled: (move, facts) =>
    `${why(move)} It stayed at ${source(move, facts)}, ${ago(move.status_since, facts)}.`,
  failed: (move, facts) =>
    `${why(move)} It stayed at ${source(move, facts)}; while that is drained another try is made, on another host where there is one.`,
};

const target = ({ to_host_id: id }: Move, { to }: MoveFacts): string => to?.name ?? shortId(id);
const source = ({ from_host_id: id }: Move, { from }: MoveFacts): string => from?.name ?? shortId(id);

function room({ vcpus, memory_mib: mib }: Move): string {
  if (vcpus === 0 && mib === 0) return "which is disk alone";
  return `${bytesText(mib * MIB)} and ${vcpus === 1 ? "1 vCPU" : `${vcpus} vCPUs`}`;
}

function lasting(move: Move, facts: MoveFacts): string {
  return `, for ${since(move.status_since, facts)}`;
}

function took(move: Move): string {
  const ms = Date.parse(move.status_since) - Date.parse(move.created_at);
  return ms < 1_000
    ? "less than a second"
    : since(move.created_at, { nowMs: Date.parse(move.status_since), userId: "" });
}

function why({ reason }: Move): string {
  if (reason === null) return "It was called off.";
  return sentence(reason.charAt(0).toUpperCase() + reason.slice(1));
}

/** A host that is away holds it up. */
function hostNotes(facts: MoveFacts): string {
  return [facts.from, facts.to]
    .flatMap((host) =>
      host?.status === "offline"
        ? [` ${host.name} was last heard of ${ago(host.last_heartbeat, facts)}.`]
        : [],
    )
    .join("");
}

function leadsOf({ vm_id: id }: Move): readonly Lead[] {
  const hosts = { label: "Hosts", to: "/hosts" };
  if (id.startsWith("sbx_")) return [{ label: "Sandbox", to: `/sandboxes/${id}` }, hosts];
  if (id.startsWith("mch_")) return [{ label: "Machine", to: `/machines/${id}` }, hosts];
  return [{ label: "Snapshots", to: "/snapshots" }, hosts];
}
