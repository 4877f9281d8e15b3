import type { Egress } from "@skerry/contract/vms/egress";
import type { ShownSecret } from "@skerry/contract/vms/secrets";
import type { OwnerColumns } from "../owned.ts";

/** What the row of a sandbox and that of a machine begin with. */
export interface NewVmRow extends Partial<OwnerColumns> {
  readonly id: string;
  readonly org_id: string;
  readonly name: string | null;
  readonly unique_name: string | null;
  readonly template: string;
  readonly size: string;
  readonly vcpus: number;
  readonly memory_mib: number;
  readonly disk_gib: number;
  readonly execution_id: string;
  readonly host_id: string;
  readonly env: Readonly<Record<string, string>>;
  /** Null: none. Empty: its memory may have some, from the snapshot that it begins at. */
  readonly secrets: readonly ShownSecret[] | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly egress: Egress;
}
