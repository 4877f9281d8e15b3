// What a fake host says of itself.

import type { HostInfo } from "@skerry/contract/host-api/host-info";
import type { HostCompatibility } from "@skerry/contract/moves/host-compatibility";

type Told = Pick<HostInfo, "name" | "cpus" | "ended"> & {
  readonly memoryMib: number;
  readonly template: HostInfo["templates"][number];
  readonly usage: HostInfo["usage"] | undefined;
};

export function infoOf(
  { name, cpus, memoryMib, template, ended, usage }: Told,
  runsHere: HostCompatibility,
): HostInfo {
  return {
    name,
    version: "0",
    accelerator_reason: "a fake",
    ...runsHere,
    kernel_version: "0",
    resource_limits: "none",
    cpus,
    memory_mib: memoryMib,
    templates: [template],
    ...(ended === undefined ? {} : { ended }),
    ...(usage === undefined ? {} : { usage }),
  };
}
