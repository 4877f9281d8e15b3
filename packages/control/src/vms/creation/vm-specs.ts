import type { VmSpec } from "@skerry/contract/host-api/vm";
import type { Queries } from "../../db/database.ts";
import { hostEgress } from "../../organizations/private-cidrs.ts";
import { wholeEnv, type ShownEnv } from "../env.ts";
import type { VmRow } from "../vm-kind.ts";

export interface PlacedVm extends VmRow {
  readonly template: string;
  readonly size: string;
  readonly env: ShownEnv;
}

/** What its host is asked for: the row of a sandbox or of a machine, as it is when its VM is to start. */
export async function vmSpecOf(db: Queries, row: PlacedVm): Promise<VmSpec> {
  return {
    execution_id: row.execution_id,
    template: row.template,
    size: row.size,
    // A name of a host has no underscores.
    hostname: row.id.replace("_", "-"),
    env: wholeEnv(row.env),
    egress: await hostEgress(db, row),
    egress_version: row.egress_version,
  };
}
