// Hosts as the operator sees them.

import { Type, type Static } from "typebox";
import { exampleOf, named } from "../named.ts";
import { Nullable, OneOf, Timestamp } from "../fields.ts";
import { pageOf } from "../page.ts";
import { exampleIds } from "../example-ids.ts";
import { HostUsage } from "../host-api/host-info.ts";
import { hostStatuses, hostDesiredStates } from "./host-status.ts";
import { BuiltInTemplate } from "../templates/template.ts";

const closed = { additionalProperties: false } as const;
const count = (description: string) => Type.Integer({ minimum: 0, description });

export const Host = named(
  "Host",
  {
    id: Type.String(),
    name: Type.String(),
    status: OneOf(hostStatuses, {
      description:
        "`offline`: not heard of for 30 s, and what ran there has failed. `draining`: its VMs, paused sandboxes and snapshots are leaving. `maintenance`: they have left.",
    }),
    status_since: Timestamp,
    desired: OneOf(hostDesiredStates, {
      description: "What the operator wants. Only a host that is online and wanted active gets VMs.",
    }),
    waits_for: Nullable(Type.String(), {
      description:
        "What a drain cannot go on without, and how many templates that no other host has stay behind; or why a host that is back gets no VMs yet.",
    }),
    last_heartbeat: Timestamp,
    heartbeat_age_s: Type.Number({
      minimum: 0,
      description: "By the database's clock, like every age of a host.",
    }),
    capacity: Type.Object(
      {
        cpus: count("CPUs of the machine."),
        vcpus: count("vCPUs that it may promise."),
        memory_mib: count("Memory that VMs may use in all."),
      },
      closed,
    ),
    used: Type.Object(
      {
        vcpus: count("vCPUs that are promised."),
        memory_mib: count("Memory that is promised."),
        vms: count("Sandboxes and machines that hold them."),
      },
      closed,
    ),
    accelerator: Nullable(Type.String(), { description: "`kvm`, or `tcg`: emulation." }),
    accelerator_reason: Nullable(Type.String()),
    versions: Type.Object(
      {
        skerry: Nullable(Type.String()),
        qemu: Nullable(Type.String()),
        kernel: Nullable(Type.String()),
      },
      { ...closed, description: "What the host said last; null where it has not said anything yet." },
    ),
    templates: Type.Array(BuiltInTemplate),
    usage: Nullable(HostUsage, {
      description: "What the machine itself has used, when it was last heard of.",
    }),
  },
  {
    id: exampleIds.host,
    name: "rack-1",
    status: "online",
    status_since: "2026-11-01T08:00:00.000Z",
    desired: "active",
    waits_for: null,
    last_heartbeat: "2026-11-20T16:00:00.000Z",
    heartbeat_age_s: 3.2,
    capacity: { cpus: 16, vcpus: 256, memory_mib: 60_000 },
    used: { vcpus: 3, memory_mib: 768, vms: 3 },
    accelerator: "kvm",
    accelerator_reason: "/dev/kvm works",
    versions: { skerry: "0.1.0", qemu: "7.2.22", kernel: "6.1.158" },
    templates: [exampleOf(BuiltInTemplate)],
    usage: null,
  },
);
export type Host = Static<typeof Host>;

export const HostList = pageOf(Host, "HostList");
export type HostList = Static<typeof HostList>;
