// Why a sandbox is as it is. A status without a sentence does not compile.

import type { SandboxInfo } from "@skerry/sdk";
import type { SandboxStatus } from "@skerry/contract/sandboxes/sandbox-status";
import { actLead, byWhom, hostLead, hostNote, sentence, since, until, type Because } from "./because.ts";
import { hasRunOutOfMemory, lastOf, LONG_MS, onHost, told, travelNote, type VmFacts } from "./vm-facts.ts";

export function whySandbox(sandbox: SandboxInfo, facts: VmFacts): Because {
  const text = sentences[sandbox.status](sandbox, facts) + travelNote(facts) + hostNote(facts.host, facts);
  const events = { label: "Events", to: `/sandboxes/${sandbox.id}/events` };
  return { text, leads: [events, ...hostLead(facts.host), ...actLead(facts.act)] };
}

/** What a person asked for that brings the status. */
export const sandboxActs: Readonly<Partial<Record<SandboxStatus, string>>> = {
  creating: "sandbox.create",
  pausing: "sandbox.pause",
  paused: "sandbox.pause",
  resuming: "sandbox.resume",
  destroying: "sandbox.destroy",
  destroyed: "sandbox.destroy",
};

const sentences: Readonly<Record<SandboxStatus, (sandbox: SandboxInfo, facts: VmFacts) => string>> = {
  creating: (sandbox, facts) =>
    `It has been in the making for ${since(sandbox.created_at, facts)}${onHost(facts)}.${whyLong(sandbox, facts)}`,
  running: (sandbox, facts) =>
    `It runs${onHost(facts)}${began(facts)}, and is ${sandbox.mode === "persistent" ? "paused" : "destroyed"} ` +
    `${until(sandbox.expires_at, facts)}, when its timeout of ${sandbox.timeout} is over.`,
  pausing: (_sandbox, facts) =>
    `Its memory is being written to the disk of its host${asked(facts)}; then it holds no memory and no CPUs.`,
  paused: (sandbox, facts) =>
    `It was paused${told(lastOf(facts, "paused"), facts)}${asked(facts)}. ` +
    `The next call to it resumes it${sandbox.mode === "persistent" ? "" : ", unless its time is over"}.`,
  resuming: (_sandbox, facts) =>
    `Its memory is being read back from the disk of its host${asked(facts)}${failedBefore(facts)}.`,
  unreachable: (sandbox) =>
    `${reasonOr(sandbox, "Its host does not answer.")} It may well be there still, and is itself again when its host is.`,
  failed: (sandbox, facts) =>
    reasonOr(sandbox, "Its host had it no more.") +
    (hasRunOutOfMemory(facts)
      ? " Before that it had killed programs for want of memory: a larger size has more."
      : ""),
  destroying: (sandbox, facts) =>
    `${reasonOr(sandbox, "Its end was asked for.", byWhom(facts.act, facts))} Its host gives back what it held.`,
  destroyed: (sandbox, facts) =>
    reasonOr(sandbox, "Its end was asked for.", byWhom(facts.act, facts)) +
    (sandbox.destroyed_at === null ? "" : ` That was ${since(sandbox.destroyed_at, facts)} ago.`),
};

/** The reason of its row as a sentence of its own. */
function reasonOr({ reason }: SandboxInfo, otherwise: string, more = ""): string {
  if (reason === null) return otherwise;
  const text = reason.charAt(0).toUpperCase() + reason.slice(1);
  return sentence(more === "" ? text : text.replace(/\.$/, "") + more);
}

function whyLong({ created_at: created }: SandboxInfo, { nowMs, host }: VmFacts): string {
  if (nowMs - Date.parse(created) < LONG_MS || host?.status === "offline") return "";
  return " The first one of a template and a size takes longer, because its host makes what all others begin from.";
}

function began(facts: VmFacts): string {
  const event = lastOf(facts, "resumed", "rolled_back", "returned", "moved");
  return event === undefined ? "" : ` (${event.kind.replaceAll("_", " ")}${told(event, facts)})`;
}

const asked = (facts: VmFacts): string => byWhom(facts.act, facts).replace(/^ by/, ", asked for by");

function failedBefore(facts: VmFacts): string {
  const event = lastOf(facts, "resume_failed");
  return event === undefined ? "" : `; an earlier try failed${told(event, facts)}`;
}
