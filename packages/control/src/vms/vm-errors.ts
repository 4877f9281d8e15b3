// Errors that the operations of all kinds of VMs declare.

import type { ErrorCode } from "@skerry/contract/errors";
import type { VmKind } from "./vm-kind.ts";

const ofGuest = ["host_unavailable", "guest_failed", "guest_timeout"] as const satisfies ErrorCode[];

/** Refusals of a start in which the VM's secrets are read. */
export const secretsErrors = [
  "secret_damaged",
  "secrets_unavailable",
  "invalid_env",
] as const satisfies ErrorCode[];

/** Of a paused one that is resumed, also by a call into it. */
export const wakeErrors = [
  ...secretsErrors,
  "host_unavailable",
  "host_draining",
  "no_capacity",
  "quota_exceeded",
  "disk_full",
  "snapshot_damaged",
  "snapshot_incompatible",
] as const satisfies ErrorCode[];

/** Of what reaches into a running one. */
export function inVmErrors({ noun }: VmKind) {
  const expired = noun === "sandbox" ? (["sandbox_expired", ...wakeErrors] as const) : [];
  return [
    `${noun}_not_found`,
    `${noun}_not_running`,
    `${noun}_busy`,
    ...expired,
    "vm_moving",
    "vm_outdated",
    ...ofGuest,
  ] as const;
}

/** Of an egress policy. */
export const egressErrors = [
  "invalid_cidr",
  "invalid_port",
  "invalid_domain",
  "egress_conflict",
  "egress_forbidden",
] as const satisfies ErrorCode[];

/** Of a start. */
export const startErrors = [
  ...ofGuest,
  ...secretsErrors,
  "host_draining",
  "no_capacity",
  "quota_exceeded",
  "size_too_large",
  "unknown_template",
  "template_lost",
  "template_not_ready",
  "disk_full",
] as const satisfies ErrorCode[];
