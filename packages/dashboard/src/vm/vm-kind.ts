// Sandboxes and machines have much in common; what they have not is here.

import type { Scope, VmCalls } from "@skerry/sdk";
import { skerry } from "../api.ts";

export interface VmKind {
  readonly calls: VmCalls;
  readonly writeScope: Scope;
  readonly executeScope: Scope;
}

export const sandboxKind: VmKind = {
  calls: skerry.sandboxes,
  writeScope: "sandboxes:write",
  executeScope: "sandboxes:execute",
};

export const machineKind: VmKind = {
  calls: skerry.machines,
  writeScope: "machines:write",
  executeScope: "machines:execute",
};
