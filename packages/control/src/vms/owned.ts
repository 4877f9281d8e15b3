// MicroVMs that belong to a resource of another room. That room makes and ends them by the calls of sandboxes
// or machines.

import { sql, type RawBuilder } from "kysely";
import { SkerryError } from "@skerry/contract/errors";
import type { VmOwner } from "@skerry/contract/vms/owner";
import type { Queries } from "../db/database.ts";
import { quoted } from "../values/quoted.ts";

/** All null: the VM was created by a call of its own. A resource need not have a name. */
export interface OwnerColumns {
  readonly owner_kind: string | null;
  readonly owner_id: string | null;
  readonly owner_name: string | null;
}

export function ownerColumnsOf(owner: VmOwner | null): OwnerColumns {
  return {
    owner_kind: owner?.kind ?? null,
    owner_id: owner?.id ?? null,
    owner_name: owner?.name ?? null,
  };
}

export function ownerOf({ owner_kind: kind, owner_id: id, owner_name: name }: OwnerColumns): VmOwner | null {
  return kind === null || id === null ? null : { kind, id, name };
}

/**
 * Returns the row. Throws `owned` where the VM belongs to a resource other than `by`, which makes the call.
 */
export function unlessOwned<Row extends OwnerColumns>(
  { noun }: { readonly noun: OwnedVm["kind"] },
  row: Row,
  by?: Pick<VmOwner, "id">,
): Row {
  const owner = ownerOf(row);
  if (owner === null || owner.id === by?.id) return row;
  const name = quoted(owner.name ?? owner.id);
  throw new SkerryError("owned", `The ${noun} belongs to the ${owner.kind} ${name}.`, {
    remediation: `Change or delete the ${owner.kind}: it makes and ends its ${noun} by itself.`,
    context: { owner_kind: owner.kind, owner_id: owner.id },
  });
}

/** Condition on rows that a list shows by `OwnerFilter`. */
export function hasOwner(filter: string): RawBuilder<unknown> {
  if (filter === "any") return sql`true`;
  const colon = filter.indexOf(":");
  if (colon < 0) return filter === "none" ? sql`owner_kind is null` : sql`owner_kind = ${filter}`;
  const [kind, one] = [filter.slice(0, colon), filter.slice(colon + 1)];
  return sql`owner_kind = ${kind} and (owner_id = ${one} or owner_name = ${one})`;
}

export interface OwnedVm {
  readonly id: string;
  readonly kind: "sandbox" | "machine";
  readonly status: string;
}

/** VMs of a resource that have not been destroyed, the oldest first. */
export async function ownedVms(db: Queries, owner: Pick<VmOwner, "kind" | "id">): Promise<OwnedVm[]> {
  const { rows } = await sql<OwnedVm>`
    select id, kind, status from vms
    where owner_kind = ${owner.kind} and owner_id = ${owner.id} and status <> 'destroyed' order by id`.execute(
    db,
  );
  return rows;
}
