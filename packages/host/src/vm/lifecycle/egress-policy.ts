// The egress policy of a running VM, kept the same in its record and its slot.

import type { HostEgressReport } from "@skerry/contract/vms/egress";
import type { EgressChange } from "@skerry/contract/host-api/vm";
import type { HostResources } from "../record/vm-resources.ts";
import { saveRecord, type VmRecord } from "../record/record.ts";
import { forgetInjection } from "../record/secrets-in-memory.ts";

interface Governed {
  record: VmRecord;
}

type PolicyResources = Pick<HostResources, "slots" | "egress">;

/** Replaces the policy by a later one; in force when it resolves. The record is written first: a host that
 *  is killed in between loads the new policy when it adopts the VM, and until then the one before it stays
 *  in force. */
export async function changePolicy(
  { slots, egress: rules }: PolicyResources,
  vm: Governed,
  change: EgressChange,
): Promise<HostEgressReport> {
  const before = vm.record;
  const slot = slots.slot(before.slot);
  // One that this host has lost the secrets of is taken again.
  const isLost = before.egress.inject !== undefined && before.egress.injection === undefined;
  if (change.version < before.egress_version || (change.version === before.egress_version && !isLost))
    return rules.report(slot, before.egress);
  const after = { ...before, egress: change.egress, egress_version: change.version };
  await save(after);
  try {
    await rules.replace(slot, after.egress);
  } catch (error) {
    await save(before);
    throw error;
  }
  vm.record = after;
  return rules.report(slot, after.egress);
}

async function save(record: VmRecord): Promise<void> {
  await saveRecord(record);
  if (record.egress.inject === undefined) await forgetInjection(record);
}

export function reportPolicy(
  { slots, egress: rules }: PolicyResources,
  { record }: Governed,
): Promise<HostEgressReport> {
  return rules.report(slots.slot(record.slot), record.egress);
}
