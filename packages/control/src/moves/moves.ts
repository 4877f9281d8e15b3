import { SkerryError } from "@skerry/contract/errors";
import { isId } from "@skerry/contract/ids";
import type { Move, MoveListQuery } from "@skerry/contract/moves/move";
import type { Versioned } from "../api/versioned.ts";
import type { Context } from "../context.ts";
import { checkText } from "../values/check-text.ts";
import { readPage, type Page } from "../values/page.ts";
import type { MoveRow } from "./move-store.ts";
import { listMoveRows, movesOfIds } from "./move-view-store.ts";

export async function listMoves({ db }: Context, query: MoveListQuery): Promise<Page<Move>> {
  const { limit: _limit, cursor: _cursor, ...filter } = query;
  for (const field of ["host", "vm"] as const) {
    const text = filter[field];
    if (text !== undefined) checkText(field, text);
  }
  const page = await readPage("move", query, (before, limit) => listMoveRows(db, filter, { before, limit }));
  return { ...page, items: page.items.map(moveOf) };
}

/** Throws `move_not_found`. */
export async function getMove({ db }: Context, id: string): Promise<Move> {
  const [row] = isId("move", id) ? await movesOfIds(db, [id]) : [];
  if (row !== undefined) return moveOf(row);
  throw new SkerryError("move_not_found", "There is no such move.", {
    remediation: "`GET /v1/moves` lists those under way, and those that ended within a day.",
  });
}

/** Those of these that there are. */
export async function findMoves({ db }: Context, ids: readonly string[]): Promise<Versioned<Move>[]> {
  const rows = await movesOfIds(db, ids);
  return rows.map((row) => ({ id: row.id, version: row.version, shownTo: () => moveOf(row) }));
}

function moveOf(row: MoveRow): Move {
  const { id, vm_id, from_host_id, to_host_id, status, reason, vcpus, memory_mib } = row;
  return {
    ...{ id, vm_id, from_host_id, to_host_id, status },
    status_since: row.status_since.toISOString(),
    ...{ reason, vcpus, memory_mib },
    created_at: row.created_at.toISOString(),
  };
}
