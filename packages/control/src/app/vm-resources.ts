// The two things of the API that have a microVM.

import { machineVms } from "../machines/machine-service.ts";
import { sandboxVms } from "../sandboxes/sandbox-service.ts";
import type { VmResource } from "../vms/vm-resource.ts";

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
