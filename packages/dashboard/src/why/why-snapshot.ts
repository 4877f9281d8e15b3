// Why a snapshot is as it is. A status without a sentence does not compile.

import type { Host, Snapshot } from "@skerry/sdk";
import { hostLead, hostNote, sentence, since, type Because, type CommonFacts } from "./because.ts";

export interface SnapshotFacts extends CommonFacts {
  readonly host: Host | null;
}

export function whySnapshot(snapshot: Snapshot, facts: SnapshotFacts): Because {
  const text = sentences[snapshot.status](snapshot, facts) + hostNote(facts.host, facts);
  return { text, leads: [...originOf(snapshot), ...hostLead(facts.host)] };
}

const sentences: Readonly<Record<Snapshot["status"], (snapshot: Snapshot, facts: SnapshotFacts) => string>> =
  {
    creating: (snapshot, facts) =>
      `Memory and disk are being written to a file of its host, for ${since(snapshot.created_at, facts)}.`,
    ready: ({ reason }) =>
      reason === null
        ? "All of it is on its host: sandboxes and machines can begin at it."
        : `Nothing can begin at it now: ${sentence(reason)}`,
    failed: ({ reason }) =>
      `Its files are not there, or not all: ${sentence(reason ?? "its host does not say why")}`,
    deleting: () => "Its deletion was asked for, and its host removes its files as soon as it answers.",
  };

function originOf({ sandbox_id: sandbox, machine_id: machine }: Snapshot): Because["leads"] {
  if (sandbox !== null) return [{ label: "Its sandbox", to: `/sandboxes/${sandbox}` }];
  return machine === null ? [] : [{ label: "Its machine", to: `/machines/${machine}` }];
}
