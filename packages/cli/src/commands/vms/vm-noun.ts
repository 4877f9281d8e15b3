// The two nouns that have a microVM: what reaches into it is the same command for both.

import type { Skerry, VmCalls } from "@skerry/sdk";

export interface VmNoun {
  readonly noun: "sandbox" | "machine";
  /** As an example shows one. */
  readonly id: string;
  readonly calls: (client: Skerry) => VmCalls;
}

export const sandboxNoun: VmNoun = {
  noun: "sandbox",
  id: "sbx_01jd3...",
  calls: (client) => client.sandboxes,
};

export const machineNoun: VmNoun = {
  noun: "machine",
  id: "mch_01jd3...",
  calls: (client) => client.machines,
};
