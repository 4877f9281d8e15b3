import type { Vm } from "@skerry/contract/host-api/vm";

/** Its host does not understand its record of the VM, and does not know which incarnation it is. */
export function isUnreadableVm({ cause }: Vm): boolean {
  return cause === "disk_unreadable" || cause === "not_adopted";
}
