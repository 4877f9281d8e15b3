// What an answer to "why is it so?" is made of, and the phrases that the answers about several kinds have in common. Pure.

import type { AuditEvent, Host } from "@skerry/sdk";
import { durationText, shortId } from "../ui/text.ts";

/** Where an answer leads, below `BASE`. */
export interface Lead {
  readonly label: string;
  readonly to: string;
}

export interface Because {
  readonly text: string;
  readonly leads: readonly Lead[];
}

/** What somebody asked for, as the audit log has it; null where it has nothing, or may not be read. */
export type Act = AuditEvent | null;

export interface CommonFacts {
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** Who asks: what this user has done was done by "you". */
  readonly userId: string;
}

export function ago(at: string, { nowMs }: CommonFacts): string {
  return `${durationText(nowMs - Date.parse(at))} ago`;
}

/** How long it has been so. */
export function since(at: string, { nowMs }: CommonFacts): string {
  return durationText(nowMs - Date.parse(at));
}

/** Until a time that may have passed. */
export function until(at: string, { nowMs }: CommonFacts): string {
  const leftMs = Date.parse(at) - nowMs;
  return leftMs > 0 ? `in ${durationText(leftMs)}` : "now";
}

/** ` by you 5 min ago`, with its space; empty where it is not known. */
export function byWhom(act: Act, facts: CommonFacts): string {
  if (act === null) return "";
  const { user_id: user, service } = act.actor;
  const who = service ?? (user === facts.userId ? "you" : user === null ? null : `user ${shortId(user)}`);
  return who === null ? "" : ` by ${who} ${ago(act.at, facts)}`;
}

/** What its host adds to it: a sentence with its space, or nothing where the host is well or not known. */
export function hostNote(host: Host | null, facts: CommonFacts): string {
  if (host === null || (host.status === "online" && host.waits_for === null)) return "";
  if (host.status === "offline")
    return ` Its host ${host.name} is offline: it was last heard of ${ago(host.last_heartbeat, facts)}.`;
  const why = host.waits_for === null ? "" : `: ${sentence(host.waits_for)}`;
  return ` Its host ${host.name} is ${host.status === "online" ? "not ready for all" : host.status}${why === "" ? "." : why}`;
}

/** A reason as the end of a sentence: with its full stop, whatever it ended with. */
export function sentence(reason: string): string {
  return /[.!?]$/.test(reason) ? reason : `${reason}.`;
}

export const hostLead = (host: Host | null): readonly Lead[] =>
  host === null ? [] : [{ label: `Host ${host.name}`, to: "/hosts" }];

export const actLead = (act: Act): readonly Lead[] =>
  act?.resource.id == null
    ? []
    : [{ label: "Audit log", to: `/audit?resource_id=${encodeURIComponent(act.resource.id)}` }];
