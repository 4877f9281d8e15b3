// The two nouns that have a microVM: what reaches into it is the same command for both.

import type { Skerry, VmCalls } from "@skerry/sdk";
import type { Named, TargetKind } from "../../targets.ts";

export interface VmNoun {
  readonly noun: "sandbox" | "machine";
  /** As an example shows one. */
  readonly id: string;
  readonly calls: (client: Skerry) => VmCalls;
  /** Those that the user can mean without a full id: what is alive. */
  readonly target: (client: Skerry, signal: AbortSignal) => TargetKind;
}

export const sandboxNoun: VmNoun = {
  noun: "sandbox",
  id: "sbx_01jd3...",
  calls: (client) => client.sandboxes,
  target: ({ sandboxes }, signal) => ({
    kind: "sandbox",
    noun: "sandbox",
    async *list(): AsyncGenerator<Named> {
      for await (const { info } of sandboxes.list({ alive: true }, { signal })) yield info;
    },
  }),
};

export const machineNoun: VmNoun = {
  noun: "machine",
  id: "mch_01jd3...",
  calls: (client) => client.machines,
  target: ({ machines }, signal) => ({
    kind: "machine",
    noun: "machine",
    list: () => machines.list({ alive: true }, { signal }),
  }),
};

/** For the help of an argument. */
export function idArgument({ noun }: Pick<VmNoun, "noun">): string {
  return `id of the ${noun}, the beginning of it, or its name`;
}
