// Hosts by id, by the beginning of it, or by name.

import type { Skerry } from "@skerry/sdk";
import type { TargetKind } from "../../targets.ts";

export const HOST_ARGUMENT = "id of the host, the beginning of it, or its name";

export function hostTarget(hosts: Skerry["hosts"], signal: AbortSignal): TargetKind {
  return { kind: "host", noun: "host", list: () => hosts.list({ signal }) };
}
