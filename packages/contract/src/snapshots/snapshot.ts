// The snapshot as `/v1` shows it.

import { Type, type Static } from "typebox";
import { NAME_MAX_CHARS } from "../bounds.ts";
import { exampleIds } from "../example-ids.ts";
import { Nullable, OneOf, Timestamp } from "../fields.ts";
import { HostCompatibility } from "../moves/host-compatibility.ts";
import { named } from "../named.ts";
import { pageOf, PageQuery } from "../page.ts";
import { snapshotStatuses } from "./snapshot-status.ts";

export const SnapshotCreateRequest = named(
  "SnapshotCreateRequest",
  {
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: NAME_MAX_CHARS,
        description:
          "Unique among the snapshots of the organization; paths take it in the place of the id. It may not begin as an id does (`snp_`).",
      }),
    ),
  },
  { name: "with all packages" },
);
export type SnapshotCreateRequest = Static<typeof SnapshotCreateRequest>;

export const Snapshot = named(
  "Snapshot",
  {
    id: Type.String(),
    name: Nullable(Type.String()),
    status: OneOf(snapshotStatuses),
    sandbox_id: Nullable(
      Type.String({ description: "The sandbox that it was taken of; null where it is of a machine." }),
    ),
    machine_id: Nullable(
      Type.String({ description: "The machine that it was taken of; null where it is of a sandbox." }),
    ),
    parent_id: Nullable(
      Type.String({
        description:
          "The snapshot that its sandbox or machine had come from, or that was taken of it before. It may be deleted.",
      }),
    ),
    command: Nullable(
      Type.String({
        description:
          "Of a machine's main process, which goes on in machines that begin here; null where there was none.",
      }),
    ),
    contains_secrets: Type.Boolean({
      description:
        "Its sandbox or machine had secrets, which its memory may hold. No template is built on it.",
    }),
    template: Type.String({ description: "Name of the template." }),
    size: Type.String(),
    memory_bytes: Nullable(
      Type.Integer({ description: "Memory that differs from the template's. Null until it is ready." }),
    ),
    disk_bytes: Nullable(Type.Integer({ description: "Disk that differs from the template's." })),
    host_id: Type.String({ description: "The host that has its files." }),
    runs_on: Nullable(HostCompatibility),
    created_at: Timestamp,
    reason: Nullable(Type.String({ description: "Why it failed, or why nothing can begin at it now." })),
  },
  {
    id: exampleIds.snapshot,
    name: "with all packages",
    status: "ready",
    sandbox_id: exampleIds.sandbox,
    machine_id: null,
    parent_id: null,
    command: null,
    contains_secrets: false,
    template: "base",
    size: "shared-cpu-1x",
    memory_bytes: 12_582_912,
    disk_bytes: 3_145_728,
    host_id: exampleIds.host,
    runs_on: {
      accelerator: "kvm",
      qemu_version: "7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)",
      cpu: "host: GenuineIntel 6 85 7",
      tsc_khz: null,
    },
    created_at: "2026-11-20T16:25:00.000Z",
    reason: null,
  },
);
export type Snapshot = Static<typeof Snapshot>;

export const SnapshotList = pageOf(Snapshot, "SnapshotList");
export type SnapshotList = Static<typeof SnapshotList>;

export const SnapshotListQuery = Type.Object(
  {
    ...PageQuery.properties,
    of: Type.Optional(
      OneOf(["sandbox", "machine"], { description: "Only snapshots of sandboxes, or of machines." }),
    ),
  },
  { additionalProperties: false },
);
export type SnapshotListQuery = Static<typeof SnapshotListQuery>;
