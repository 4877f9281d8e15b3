// Conditions on rows of `vms` that several rooms need.

import { sql } from "kysely";
import { machineStatusesOnHost } from "@skerry/contract/machines/machine-status";
import { sandboxStatusesOnHost } from "@skerry/contract/sandboxes/sandbox-status";

const onHost = [...new Set<string>([...sandboxStatusesOnHost, ...machineStatusesOnHost])];

/** The VM holds memory and CPUs of its host. */
export const isOnHost = sql<boolean>`(vms.status in (${sql.join(onHost)}))`;

/** Files of the VM are lost with its host. Nothing is left of a sandbox that has failed. */
export const isKeptByHost = sql<boolean>`(
  vms.status not in ('destroying', 'destroyed') and not (vms.kind = 'sandbox' and vms.status = 'failed')
)`;
