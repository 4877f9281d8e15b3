// The log of a VM's life.

import { Type, type Static } from "typebox";
import { exampleIds } from "../example-ids.ts";
import { Nullable, OneOf, Timestamp } from "../fields.ts";
import { named } from "../named.ts";
import { pageOf } from "../page.ts";

/** `returned`: its host has come back with it. `stopped`, `stop_failed`, `restarted`: of machines. */
export const vmEventKinds = [
  "created",
  "started",
  "paused",
  "pause_failed",
  "resumed",
  "resume_failed",
  "snapshotted",
  "forked",
  "rolled_back",
  "updated",
  "moved",
  "denied",
  "injected",
  "out_of_memory",
  "unreachable",
  "returned",
  "stopped",
  "stop_failed",
  "restarted",
  "failed",
  "destroyed",
] as const;
export type VmEventKind = (typeof vmEventKinds)[number];

export const VmEvent = named(
  "VmEvent",
  {
    id: Type.String(),
    kind: OneOf(vmEventKinds, {
      description:
        "`denied`: its egress rules have refused packets. `injected`: its requests got a secret on their way. `out_of_memory`: a program in it was killed for want of memory. `unreachable`: its host is silent. `returned`: its host has come back with it. `updated`: it was changed by request.",
    }),
    reason: Nullable(Type.String({ description: "Why it was, or what it was about." })),
    at: Timestamp,
    count: Type.Integer({
      minimum: 1,
      description:
        "How many equal ones this stands for: packets of `denied`, requests of `injected`, programs of `out_of_memory`.",
    }),
    last_at: Type.String({ ...Timestamp, description: "When the last of them was." }),
  },
  {
    id: exampleIds.event,
    kind: "paused",
    reason: "nothing had used it for 10m",
    at: "2026-11-20T16:41:09.423Z",
    count: 1,
    last_at: "2026-11-20T16:41:09.423Z",
  },
);
export type VmEvent = Static<typeof VmEvent>;

export const VmEventList = pageOf(VmEvent, "VmEventList");
export type VmEventList = Static<typeof VmEventList>;
