// Health checks by a host. It keeps them in memory: a host that was restarted, and one that a VM has moved
// to, knows none until control has said so again. Hosts of versions before it do not know these calls.
//
//   GET    /checks                                  CheckStates, of all VMs that it checks
// PUT    /vms/{id}/check      CheckChange         204; the check of this incarnation, in the place of the one
// before
//
// A change of a state raises `ended` in `/info`, so that control reads the list.

import { Type, type Static } from "typebox";
import { CHECK_REASON_MAX_CHARS } from "../checks/check-bounds.ts";
import { Nullable, OneOf, Timestamp } from "../fields.ts";

const closed = { additionalProperties: false } as const;
const Ms = Type.Integer({ minimum: 0 });

export const HostCheck = Type.Object(
  {
    /** An HTTP request, a connection, or else a command. Hosts of versions before do not know `tcp`. */
    http: Type.Optional(
      Type.Object({ path: Type.String(), port: Type.Integer({ minimum: 1, maximum: 65_535 }) }, closed),
    ),
    tcp: Type.Optional(Type.Object({ port: Type.Integer({ minimum: 1, maximum: 65_535 }) }, closed)),
    command: Type.Optional(Type.String()),
    interval_ms: Type.Integer({ minimum: 1 }),
    timeout_ms: Type.Integer({ minimum: 1 }),
    failures: Type.Integer({ minimum: 1 }),
    grace_ms: Ms,
  },
  closed,
);
export type HostCheck = Static<typeof HostCheck>;

const ref = {
  execution_id: Type.String({ maxLength: 64 }),
  /** Counts the changes of a VM's check. */
  version: Type.Integer({ minimum: 1 }),
};

export const CheckChange = Type.Object(
  {
    ...ref,
    /** Absent: it is not checked any more. */
    check: Type.Optional(HostCheck),
  },
  closed,
);
export type CheckChange = Static<typeof CheckChange>;

export const CheckState = Type.Object(
  {
    id: Type.String(),
    ...ref,
    status: OneOf(["passing", "failing", "starting"]),
    since: Timestamp,
    /** Why it failed last; null where it passed. The text is the host's own: nothing in it is the guest's. */
    reason: Nullable(Type.String({ maxLength: CHECK_REASON_MAX_CHARS })),
    last_checked_at: Nullable(Timestamp),
  },
  closed,
);
export type CheckState = Static<typeof CheckState>;

export const CheckStates = Type.Object({ items: Type.Array(CheckState) }, closed);
export type CheckStates = Static<typeof CheckStates>;
