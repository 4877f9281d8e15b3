// The two things of the API that have a microVM. What reaches into it is the same for both, under either path.

import { Type } from "typebox";
import { machineVms } from "../machines/machine-service.ts";
import { sandboxVms } from "../sandboxes/sandbox-service.ts";
import type { VmKind } from "../vms/vm-kind.ts";
import type { Operation } from "../api/operations.ts";

export interface VmResource {
  readonly kind: VmKind;
  readonly path: "/v1/sandboxes" | "/v1/machines";
  readonly tag: string;
  readonly operations: Readonly<
    Record<"execute" | "uploadFile" | "downloadFile" | "setEgress" | "getEgress", Operation>
  >;
}

export const vmResources: readonly VmResource[] = [
  {
    kind: sandboxVms,
    path: "/v1/sandboxes",
    tag: "sandboxes",
    operations: {
      execute: "execute",
      uploadFile: "uploadFile",
      downloadFile: "downloadFile",
      setEgress: "setSandboxEgress",
      getEgress: "getSandboxEgress",
    },
  },
  {
    kind: machineVms,
    path: "/v1/machines",
    tag: "machines",
    operations: {
      execute: "executeInMachine",
      uploadFile: "uploadMachineFile",
      downloadFile: "downloadMachineFile",
      setEgress: "setMachineEgress",
      getEgress: "getMachineEgress",
    },
  },
];

export function vmParams(noun: VmKind["noun"]) {
  return Type.Object({ id: Type.String({ description: `Id of the ${noun}.` }) });
}
