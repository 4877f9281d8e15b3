// Why a machine is as it is: how it has ended, how often it was started again, and what comes next. A status without a sentence does not compile.

import type { Machine, MachineEnd } from "@skerry/sdk";
import type { MachineEndCause } from "@skerry/contract/machines/machine-end";
import type { MachineStatus } from "@skerry/contract/machines/machine-status";
import {
  actLead,
  ago,
  byWhom,
  hostLead,
  hostNote,
  sentence,
  since,
  until,
  type Because,
  type Lead,
} from "./because.ts";
import { LONG_MS, onHost, travelNote, type VmFacts } from "./vm-facts.ts";

export interface MachineFacts extends VmFacts {
  /** How it has ended without being asked to, newest first. */
  readonly ends: readonly MachineEnd[];
}

export function whyMachine(machine: Machine, facts: MachineFacts): Because {
  const text = sentences[machine.status](machine, facts) + travelNote(facts) + hostNote(facts.host, facts);
  return { text, leads: [...leadsOf(machine, facts), ...hostLead(facts.host), ...actLead(facts.act)] };
}

/** What a person asked for that brings the status. */
export const machineActs: Readonly<Partial<Record<MachineStatus, string>>> = {
  creating: "machine.create",
  stopping: "machine.stop",
  stopped: "machine.stop",
  starting: "machine.start",
  destroying: "machine.destroy",
  destroyed: "machine.destroy",
};

const sentences: Readonly<Record<MachineStatus, (machine: Machine, facts: MachineFacts) => string>> = {
  creating: (machine, facts) =>
    `It has been in the making for ${since(machine.created_at, facts)}${onHost(facts)}.${whyLong(machine, facts)}`,
  running: (machine, facts) =>
    `It runs${onHost(facts)}${machine.started_at === null ? "" : ` since ${ago(machine.started_at, facts)}`}` +
    (machine.restarts === 0 ? "." : `, after ${restarts(machine)}.${lastEnd(facts)}`),
  stopping: (machine, facts) =>
    `${machine.desired === "stopped" ? "Its stop was asked for" : "It is stopped to be started again"}${byWhom(facts.act, facts)}; ` +
    "its main process has its stop timeout to end by itself.",
  stopped: (machine, facts) =>
    machine.desired === "stopped"
      ? `It was stopped${byWhom(facts.act, facts)} and starts again when that is asked for.`
      : ended(machine, facts),
  starting: (machine, facts) =>
    machine.restarts === 0
      ? `Its start was asked for${byWhom(facts.act, facts)}.`
      : `It is started again by its policy \`${machine.restart.policy}\`, after ${restarts(machine)}.${lastEnd(facts)}`,
  failed: ended,
  destroying: (_machine, facts) =>
    `Its end was asked for${byWhom(facts.act, facts)}. Its host gives back what it held.`,
  destroyed: (machine, facts) =>
    `Its end was asked for${byWhom(facts.act, facts)}` +
    (machine.destroyed_at === null ? "." : `; it was gone ${ago(machine.destroyed_at, facts)}.`),
};

/** It does not run, and nobody wanted that. */
function ended(machine: Machine, facts: MachineFacts): string {
  const [end] = facts.ends;
  const how = end === undefined ? sentence(capital(machine.reason ?? "it ended")) : exitText(end);
  const often = machine.restarts === 0 ? "" : ` Before that it was started again ${times(machine)}.`;
  const next =
    machine.restart_at === null
      ? ` Nothing starts it again: its policy is \`${machine.restart.policy}\`${tries(machine)}.`
      : ` Its policy \`${machine.restart.policy}\` starts it again ${until(machine.restart_at, facts)}.`;
  return how + often + next + waitsFor(machine);
}

/** A restart that cannot begin says for what it waits behind this word. */
function waitsFor({ reason }: Machine): string {
  const what = /; its next start waits: (.*)$/s.exec(reason ?? "")?.[1];
  return what === undefined ? "" : ` That waits: ${sentence(what)}`;
}

function tries({ restart: { max_retries: max } }: Machine): string {
  return max === null ? "" : `, with at most ${max} tries in a row`;
}

function restarts({ restarts: count }: Machine): string {
  return count === 1 ? "1 restart" : `${count} restarts`;
}

function times({ restarts: count }: Machine): string {
  return count === 1 ? "once" : `${count} times`;
}

function lastEnd(facts: MachineFacts): string {
  const [end] = facts.ends;
  return end === undefined ? "" : ` Last time, ${ago(end.ended_at, facts)}: ${exitText(end)}`;
}

/** How it ended, and what its exit code usually means. */
function exitText(end: MachineEnd): string {
  if (end.out_of_memory) return "Its main process was killed for want of memory: a larger size has more.";
  if (end.cause === "main_exited" && end.exit_code !== null)
    return `Its main process exited with ${end.exit_code}${meaningOf(end)}.`;
  return words[end.cause] ?? sentence(capital(end.reason));
}

const words: Readonly<Partial<Record<MachineEndCause, string>>> = {
  host_lost: "Its host was not heard of for too long.",
  lost: "Its host came back without it.",
  disk_gone: "Its host came back without its disk.",
};

const meanings: Readonly<Record<number, string>> = {
  126: "its program cannot be executed",
  127: "its program was not found",
  137: "it was killed",
  139: "it broke the rules of memory",
  143: "it was asked to end",
};

function meaningOf({ exit_code: code, signal }: MachineEnd): string {
  const meaning = code === null ? undefined : meanings[code];
  if (meaning === undefined) return signal === null ? "" : `, by ${signal}`;
  return `: ${meaning}${signal === null ? "" : `, by ${signal}`}`;
}

function whyLong({ created_at: created }: Machine, { nowMs, host }: MachineFacts): string {
  if (nowMs - Date.parse(created) < LONG_MS || host?.status === "offline") return "";
  return " The first one of a template and a size takes longer, because its host makes what all others begin from.";
}

function leadsOf({ id }: Machine, { ends }: MachineFacts): readonly Lead[] {
  const at = `/machines/${id}`;
  const history = ends.length === 0 ? [] : [{ label: "Restarts", to: `${at}/restarts` }];
  return [{ label: "Console", to: at }, ...history, { label: "Events", to: `${at}/events` }];
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
