import type { VmSpec } from "@skerry/contract/host-api/vm";
import type { ShownSecret } from "@skerry/contract/vms/secrets";
import type { Context } from "../../context.ts";
import { injectEnv } from "@skerry/contract/vms/inject";
import { hostEgress } from "../../secrets/host-egress.ts";
import { wholeEnv, type ShownEnv } from "../env.ts";
import type { VmRow } from "../vm-kind.ts";
import { secretsAtStart } from "./vm-secrets.ts";

export interface PlacedVm extends VmRow {
  readonly template: string;
  readonly size: string;
  readonly env: ShownEnv;
  readonly secrets: ShownSecret[] | null;
}

/**
 * Specification for its host: the row of a sandbox or of a machine, as it is when its VM is to start.
 * `given`: values of its secrets, where they were read for this start.
 */
export async function vmSpecOf(
  context: Context,
  row: PlacedVm,
  given?: Readonly<Record<string, string>>,
): Promise<VmSpec> {
  const secrets = given ?? (await secretsAtStart(context, row));
  return {
    execution_id: row.execution_id,
    template: row.template,
    size: row.size,
    // A name of a host has no underscores.
    hostname: row.id.replace("_", "-"),
    env: { ...injectEnv(row.egress.inject), ...wholeEnv(row.env) },
    // Also where all of them were deleted: its guest may have them from before, and is told that it has none.
    ...(row.secrets !== null && row.secrets.length > 0 && { secrets }),
    egress: await hostEgress(context, row),
    egress_version: row.egress_version,
  };
}
