// A move as its operator sees it: one VM, or one snapshot, on its way from one host to another.

import { Type, type Static } from "typebox";
import { exampleIds } from "../example-ids.ts";
import { Nullable, OneOf, Timestamp } from "../fields.ts";
import { named } from "../named.ts";
import { pageOf, PageQuery } from "../page.ts";
import { moveStatuses } from "./move-status.ts";

const Status = OneOf(moveStatuses, {
  description:
    "`preparing`: its target makes room. `sending`: disk and memory are on their way, and it runs on at its source. `resuming`: it is its target's. `canceling`: its source goes on with it.",
});

export const MoveListQuery = Type.Object(
  {
    ...PageQuery.properties,
    status: Type.Optional(OneOf(moveStatuses, { description: "Only moves with this status." })),
    host: Type.Optional(
      Type.String({ maxLength: 100, description: "Only moves from this host, or to it, by id." }),
    ),
    vm: Type.Optional(
      Type.String({ maxLength: 100, description: "Only those of this sandbox, machine or snapshot, by id." }),
    ),
  },
  { additionalProperties: false },
);
export type MoveListQuery = Static<typeof MoveListQuery>;

export const Move = named(
  "Move",
  {
    id: Type.String(),
    vm_id: Type.String({ description: "The sandbox, the machine, or the snapshot whose files travel." }),
    from_host_id: Type.String(),
    to_host_id: Type.String(),
    status: Status,
    status_since: Timestamp,
    reason: Nullable(Type.String({ description: "Why it was canceled, or failed." })),
    vcpus: Type.Integer({ minimum: 0, description: "0 of what does not run: a paused sandbox, a snapshot." }),
    memory_mib: Type.Integer({ minimum: 0, description: "What the target keeps free for it." }),
    created_at: Timestamp,
  },
  {
    id: exampleIds.move,
    vm_id: exampleIds.sandbox,
    from_host_id: exampleIds.host,
    to_host_id: "hst_01kb3x8a0c2e4g6j8m0p2r4t6v",
    status: "sending",
    status_since: "2026-11-20T16:41:09.423Z",
    reason: null,
    vcpus: 1,
    memory_mib: 256,
    created_at: "2026-11-20T16:41:08.123Z",
  },
);
export type Move = Static<typeof Move>;

export const MoveList = pageOf(Move, "MoveList");
