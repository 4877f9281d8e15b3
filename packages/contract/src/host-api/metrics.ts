// What a host has measured of a VM, once a minute.
//
//   GET    /vms/{id}/metrics?since_ms=              VmSamples; of any life of it, also while it does not run. Not known to hosts of versions before it

import { Type, type Static } from "typebox";

const closed = { additionalProperties: false } as const;
const Natural = Type.Integer({ minimum: 0 });

/** Counters begin at 0 with each process of QEMU. */
export const VmSample = Type.Object(
  {
    /** Milliseconds since 1970. */
    at_ms: Natural,
    /** Of two samples with the same number the counters can be compared. */
    life: Natural,
    /** Of its process, which has counted since. */
    age_ms: Natural,
    /** Of QEMU: the guest's CPUs, and the work for its devices. */
    cpu_ms: Natural,
    /** That the VM has for itself; what it shares with others of its template is not in it. */
    memory_bytes: Natural,
    /** That its own layer of the disk takes on the host. */
    disk_bytes: Natural,
    disk_read_bytes: Natural,
    disk_written_bytes: Natural,
    /** By the guest. */
    network_received_bytes: Natural,
    network_sent_bytes: Natural,
  },
  closed,
);
export type VmSample = Static<typeof VmSample>;

/** How long samples are kept. */
export const SAMPLES_KEPT_MS = 24 * 3_600_000;
export const SAMPLE_EVERY_MS = 60_000;

export const VmSamplesQuery = Type.Object({ since_ms: Natural }, closed);

export const VmSamples = Type.Object(
  {
    /** Oldest first; the first may be the last one before the time that was asked for. */
    items: Type.Array(VmSample),
    /** Samples that cannot be read any more. */
    damaged: Natural,
  },
  closed,
);
export type VmSamples = Static<typeof VmSamples>;
