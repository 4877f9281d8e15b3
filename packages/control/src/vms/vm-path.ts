// `:id` in the paths of sandboxes and machines: an id, or the name of one that lives.

import { Type } from "typebox";
import { findVmId, isVmName, vmNotFound } from "./vm-names.ts";
import type { VmKind } from "./vm-kind.ts";
import type { IdOf } from "../api/operation.ts";

/** What an operation on one of them declares of its path. */
export function vmPath(kind: Pick<VmKind, "noun" | "table" | "isId">) {
  const idOf: IdOf = async (context, caller, asked) => {
    // No round trip for an id: what is done with it finds out whether it exists.
    if (kind.isId(asked)) return asked;
    const id = isVmName(asked) ? await findVmId(context.db, kind, caller.orgId, asked) : undefined;
    if (id === undefined) throw vmNotFound(kind, asked);
    return id;
  };
  return {
    params: Type.Object({ id: Type.String({ description: `Id or name of the ${kind.noun}.` }) }),
    idOf,
  };
}
