// What a host says of itself, its machine and its cache.

import { Type, type Static } from "typebox";
import { Nullable, OneOf } from "../fields.ts";
import { BuiltInTemplate } from "../templates/template.ts";

const closed = { additionalProperties: false } as const;

const bytes = (description: string) => Type.Number({ minimum: 0, description });

/** What the machine of a host has used, and what waits on it. What the kernel counts, it counts from its
 *  boot. */
export const HostUsage = Type.Object(
  {
    cpu_seconds: Type.Object(
      {
        user: Type.Number(),
        system: Type.Number(),
        idle: Type.Number(),
        iowait: Type.Number(),
        steal: Type.Number({ description: "Taken by the machine that this machine is a VM of." }),
      },
      closed,
    ),
    memory_bytes: bytes("All of it."),
    memory_available_bytes: bytes("What could be used without swapping."),
    disk_bytes: bytes("The file system that VMs are kept on."),
    disk_free_bytes: bytes("What is free of it."),
    network_received_bytes: bytes("On the links of the default routes."),
    network_sent_bytes: bytes("On the links of the default routes."),
    warm_pool: Type.Object(
      {
        waiting: Type.Integer({ description: "Idle clones, ready for the next VM." }),
        taken: Type.Integer({ description: "VMs that were made of a waiting clone since the host started." }),
        missed: Type.Integer({ description: "VMs for which none waited." }),
      },
      closed,
    ),
  },
  closed,
);
export type HostUsage = Static<typeof HostUsage>;

export const HostInfo = Type.Object(
  {
    name: Type.String({ description: "The machine's host name, or what its settings call it." }),
    endpoint: Type.Optional(
      Type.String({ description: "Where other hosts reach it, ADDRESS:PORT. Absent where they do not." }),
    ),
    edge_door: Type.Optional(
      Type.String({
        description: "Where it takes requests to apps that other hosts pass on. Absent where it takes none.",
      }),
    ),
    version: Type.String(),
    accelerator: OneOf(["kvm", "tcg"]),
    accelerator_reason: Type.String({ description: "Why this accelerator." }),
    qemu_version: Type.String(),
    kernel_version: Type.String(),
    resource_limits: Type.String({ description: "Which cgroup limits hold QEMU, or why none do." }),
    /** Which CPU its guests see; a VM can only go on where it is the same. Absent from hosts of versions
     *  before it. */
    cpu: Type.Optional(Type.String()),
    /** The rate by which its emulated guests tell the time; null where they need none. */
    tsc_khz: Type.Optional(Nullable(Type.Integer())),
    cpus: Type.Integer(),
    memory_mib: Type.Integer({ description: "Memory that VMs may use in all." }),
    templates: Type.Array(BuiltInTemplate),
    /**
     * Changes whenever a VM has ended by itself, and whenever a health check has another status: then the
     * list of  VMs is worth a look. Absent from hosts  of versions before it.
     */
    ended: Type.Optional(Type.Integer({ minimum: 0 })),
    /** Absent from hosts of versions before it. */
    usage: Type.Optional(HostUsage),
  },
  closed,
);
export type HostInfo = Static<typeof HostInfo>;

export const CacheSwept = Type.Object(
  { removed: Type.Integer({ minimum: 0, description: "Images and frozen templates that nothing needs." }) },
  closed,
);
export type CacheSwept = Static<typeof CacheSwept>;
