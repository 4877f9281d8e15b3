// The sandbox or the machine that the user means, where a command takes either.

import { kindOf } from "@skerry/contract/ids";
import type { Skerry } from "@skerry/sdk";
import { CliError } from "../../errors/errors.ts";
import { onTarget } from "../../targets.ts";
import { machineNoun, sandboxNoun, type VmNoun } from "./vm-noun.ts";

export interface FoundVm {
  readonly noun: VmNoun;
  readonly id: string;
}

export async function findVm(client: Skerry, text: string, signal: AbortSignal): Promise<FoundVm> {
  const kind = kindOf(text);
  if (kind === "sandbox") return findSandbox(client, text, signal);
  if (kind === "machine") return findMachine(client, text, signal);
  const [sandbox, machine] = await Promise.all([
    findSandbox(client, text, signal).catch(noneFound),
    findMachine(client, text, signal).catch(noneFound),
  ]);
  if (sandbox !== undefined && machine !== undefined)
    throw new CliError("ambiguous", `"${text}" can mean a sandbox and a machine.`, {
      remediation: "Give the id:",
      lines: [sandbox.id, machine.id],
    });
  const found = sandbox ?? machine;
  if (found !== undefined) return found;
  throw new CliError("not_found", `There is no sandbox and no machine "${text}".`, {
    remediation: "`skerry ps` shows those that are alive.",
  });
}

function findSandbox(client: Skerry, text: string, signal: AbortSignal): Promise<FoundVm> {
  return onTarget(sandboxNoun.target(client, signal), text, async (id) => ({
    noun: sandboxNoun,
    id: (await client.sandboxes.get(id, { signal })).id,
  }));
}

function findMachine(client: Skerry, text: string, signal: AbortSignal): Promise<FoundVm> {
  return onTarget(machineNoun.target(client, signal), text, async (id) => ({
    noun: machineNoun,
    id: (await client.machines.get(id, { signal })).id,
  }));
}

function noneFound(error: unknown): undefined {
  const isMissing =
    error instanceof CliError && (error.code === "sandbox_not_found" || error.code === "machine_not_found");
  if (!isMissing) throw error;
  return undefined;
}
