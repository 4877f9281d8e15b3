import { newId } from "@skerry/contract/ids";
import type { Size } from "@skerry/contract/sizes";
import type { VmOwner } from "@skerry/contract/vms/owner";
import type { NewVmRow } from "./new-vm-row.ts";
import type { Tenant } from "../../caller.ts";
import type { EgressParams } from "../egress/egress-params.ts";
import type { Found } from "../../capacity/reservation.ts";
import { ownerColumnsOf } from "../owned.ts";
import type { VmKind } from "../vm-kind.ts";

interface NewVmParams extends Pick<NewVmRow, "name" | "env" | "secrets" | "metadata"> {
  readonly size: Size;
  readonly egress: EgressParams;
  /** Null: it belongs to no resource. Names of those that do are free of the organization's names. */
  readonly owner: VmOwner | null;
}

export interface NewVmPlace extends Pick<Found, "egress"> {
  readonly template: Pick<Found["template"], "name" | "disk_gib">;
  readonly host: Pick<Found["host"], "id">;
}

/** What was asked for, where room for it was found. */
export function newVm(
  noun: VmKind["noun"],
  { orgId }: Tenant,
  { name, size, env, secrets, metadata, egress: policy, owner }: NewVmParams,
  { template, host, egress }: NewVmPlace,
): NewVmRow {
  return {
    id: newId(noun),
    org_id: orgId,
    name,
    unique_name: owner === null ? name : null,
    ...ownerColumnsOf(owner),
    template: template.name,
    size: size.name,
    vcpus: size.vcpus,
    memory_mib: size.memory_mib,
    disk_gib: template.disk_gib,
    host_id: host.id,
    execution_id: newId("incarnation"),
    env,
    secrets,
    metadata,
    egress: policy(egress),
  };
}
