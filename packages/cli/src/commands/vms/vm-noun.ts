// The two nouns that have a microVM: what reaches into it is the same command for both.

import type { Skerry, VmCalls } from "@skerry/sdk";
import type { Named, TargetKind } from "../../targets.ts";
import { endedSandbox, ofOtherKind } from "./no-such-vm.ts";

export interface VmNoun {
  readonly noun: "sandbox" | "machine";
  /** As an example shows one. */
  readonly id: string;
  readonly calls: (client: Skerry) => VmCalls;
  /** Those that the user can mean without a full id: what is alive. `verb`: of the command that asks. */
  readonly target: (client: Skerry, signal: AbortSignal, verb?: string) => TargetKind;
}

export const sandboxNoun: VmNoun = {
  noun: "sandbox",
  id: "sbx_01jd3...",
  calls: (client) => client.sandboxes,
  target: (client, signal, verb) => ({
    kind: "sandbox",
    noun: "sandbox",
    async *list(): AsyncGenerator<Named> {
      for await (const { info } of client.sandboxes.list({ alive: true }, { signal })) yield info;
    },
    async explain(text) {
      const machine = await ofOtherKind(machineNoun.target(client, signal), verb, text);
      return machine ?? endedSandbox(client, signal, text);
    },
  }),
};

export const machineNoun: VmNoun = {
  noun: "machine",
  id: "mch_01jd3...",
  calls: (client) => client.machines,
  target: (client, signal, verb) => ({
    kind: "machine",
    noun: "machine",
    list: () => client.machines.list({ alive: true }, { signal }),
    explain: (text) => ofOtherKind(sandboxNoun.target(client, signal), verb, text),
  }),
};

/** For the help of an argument. */
export function idArgument({ noun }: Pick<VmNoun, "noun">): string {
  return `id of the ${noun}, the beginning of it, or its name`;
}
