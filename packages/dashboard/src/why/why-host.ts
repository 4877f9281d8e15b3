// Why a host is as it is: what an operator wants of it, what its drain waits for, and where there would be room. A status without a sentence does not
// compile.

import type { Host, Move } from "@skerry/sdk";
import { HOST_OFFLINE_AFTER_S, type HostStatus } from "@skerry/contract/hosts/host-status";
import { roomiest, roomText } from "../hosts/room.ts";
import {
  actLead,
  ago,
  byWhom,
  sentence,
  since,
  type Act,
  type Because,
  type CommonFacts,
  type Lead,
} from "./because.ts";

export interface HostFacts extends CommonFacts {
  /** All that there are, with this one. */
  readonly hosts: readonly Host[];
  /** Away from it, and under way. */
  readonly leaving: readonly Move[];
  /** Who drained or activated it last. */
  readonly act: Act;
}

export function whyHost(host: Host, facts: HostFacts): Because {
  return { text: sentences[host.status](host, facts), leads: [...leadsOf(host), ...actLead(facts.act)] };
}

/** What a person asked for that brings the status. */
export const hostActs: Readonly<Partial<Record<HostStatus, string>>> = {
  online: "host.activate",
  draining: "host.drain",
  maintenance: "host.drain",
};

const sentences: Readonly<Record<HostStatus, (host: Host, facts: HostFacts) => string>> = {
  online: (host) =>
    host.waits_for === null
      ? "It answers, and gets new VMs while it has room."
      : `It answers, but gets no new VMs: ${sentence(host.waits_for)}`,
  offline: (host, facts) =>
    `It was last heard of ${ago(host.last_heartbeat, facts)}, and one that is silent for ${HOST_OFFLINE_AFTER_S} s counts as offline. ` +
    "Sandboxes there are unreachable and come back with it; machines there have failed." +
    waits(host),
  draining: (host, facts) =>
    `Its drain was asked for${byWhom(facts.act, facts) || ` ${since(host.status_since, facts)} ago`}: ${left(host, facts)}.` +
    waits(host) +
    (host.waits_for === null ? "" : mostRoom(host, facts)),
  maintenance: (host, facts) =>
    `Its drain was asked for${byWhom(facts.act, facts)}, and what could leave has left ${ago(host.status_since, facts)}. It gets nothing before it is activated.` +
    waits(host),
};

function waits({ waits_for: what }: Host): string {
  return what === null ? "" : ` It waits: ${sentence(what)}`;
}

function left({ used }: Host, { leaving }: HostFacts): string {
  const stay = used.vms === 1 ? "1 guest is left" : `${used.vms} guests are left`;
  const go = leaving.length === 0 ? "none is on its way" : `${leaving.length} on their way`;
  return used.vms === 0 ? "no guest runs there any more, what is saved there leaves last" : `${stay}, ${go}`;
}

/** Where there would be most room, so that an operator knows what would have to go. */
function mostRoom(host: Host, { hosts }: HostFacts): string {
  const best = roomiest(hosts.filter(({ id }) => id !== host.id));
  return best === undefined
    ? " No other host takes anything now."
    : ` Most room is on ${best.name}: ${roomText(best)}.`;
}

const vmPaths: Readonly<Record<string, string>> = { sbx: "/sandboxes/", mch: "/machines/" };

function leadsOf(host: Host): readonly Lead[] {
  const [id, kind] = /\b(sbx|mch)_[0-9a-z]+/.exec(host.waits_for ?? "") ?? [];
  const held =
    kind === undefined || id === undefined
      ? []
      : [{ label: "What it waits for", to: `${vmPaths[kind] ?? ""}${id}` }];
  return [
    ...held,
    { label: "Sandboxes there", to: `/sandboxes?host=${host.id}` },
    { label: "Machines there", to: `/machines?host=${host.id}` },
  ];
}
