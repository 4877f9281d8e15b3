// What the audit log tells of can be of any kind, and may have ended.

import { isId, kindOf } from "@skerry/contract/ids";
import { SkerryApiError, type Skerry } from "@skerry/sdk";
import { CliError } from "../errors/errors.ts";
import { findId, organizationTarget, type TargetKind } from "../targets.ts";
import { hostTarget } from "./hosts/host-target.ts";
import { machineNoun, sandboxNoun } from "./vms/vm-noun.ts";
import { here, memberTarget, tokenTarget } from "./organizations/organization-targets.ts";

/** The id of what has this name, or whose id begins like this. What is alive comes before what has ended. */
export async function resourceMeant(client: Skerry, text: string, signal: AbortSignal): Promise<string> {
  const kind = kindOf(text);
  if (kind !== undefined && isId(kind, text)) return text;
  const own = await here(client, signal);
  const alive: readonly TargetKind[] = [
    sandboxNoun.target(client, signal),
    machineNoun.target(client, signal),
    organizationTarget(client, signal),
    memberTarget(client, own, signal),
    tokenTarget(client, signal),
    hostTarget(client.hosts, signal),
  ];
  const ended: readonly TargetKind[] = [
    { ...sandboxNoun.target(client, signal), list: () => endedSandboxes(client, signal) },
    { ...machineNoun.target(client, signal), list: () => client.machines.list({}, { signal }) },
  ];
  for (const targets of [alive, ended]) {
    const asked = targets.filter((target) => kind === undefined || target.kind === kind);
    const found = (await Promise.all(asked.map((target) => findId(target, text).catch(noneSeen)))).filter(
      (id) => id !== undefined,
    );
    if (found.length > 1)
      throw new CliError("ambiguous", `"${text}" can mean ${found.length} of them.`, {
        remediation: "Give the id:",
        lines: found,
      });
    if (found[0] !== undefined) return found[0];
  }
  throw new CliError("not_found", `Nothing that can be seen is called "${text}".`, {
    remediation: "What is gone is found by its id; `skerry audit list --json` shows whole ids.",
  });
}

async function* endedSandboxes({ sandboxes }: Skerry, signal: AbortSignal) {
  for await (const { info } of sandboxes.list({}, { signal })) yield info;
}

/** What the token may not list is not meant. */
function noneSeen(error: unknown): undefined {
  if (error instanceof SkerryApiError && (error.status === 403 || error.status === 404)) return undefined;
  throw error;
}
