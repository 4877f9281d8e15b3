// What the end of a microVM says about its machine. Pure.

import { SkerryError } from "@skerry/contract/errors";
import type { Vm } from "@skerry/contract/host-api/vm";
import type { VmCause } from "@skerry/contract/vms/vm-causes";
import type { MachineEndCause } from "@skerry/contract/machines/machine-end";
import { isUnreadableVm } from "../vms/unreadable-vm.ts";

export interface ExitReason {
  readonly reason: string;
  readonly cause: MachineEndCause;
  /** Of the main process; null where it is not known. */
  readonly exitCode: number | null;
  /** The number of the one that ended the main process. */
  readonly signal?: number;
  /** Its main process exited with 0: the machine has done its work. */
  readonly succeeded: boolean;
  /** Its disk cannot be used, so that another start would end in the same way. `later`: by this host process. */
  readonly disk?: "lost" | "later";
  /** Its guest's kernel killed the main process for want of memory. */
  readonly outOfMemory?: boolean;
}

/** A host may say more than a person wants to read. */
const REASON_MAX_CHARS = 300;

/** The end of the microVM that the host lists, or of one that it does not have any more. */
export function exitReasonOf(vm: Vm | undefined): ExitReason {
  if (vm === undefined) return { reason: wordsOf.lost, cause: "lost", exitCode: null, succeeded: false };
  if (isUnreadableVm(vm)) return unreadable(vm);
  const exitCode = vm.exit?.exit_code ?? null;
  return {
    reason: vm.reason?.slice(0, REASON_MAX_CHARS) ?? reasonOf(vm, exitCode),
    cause: causeOf(vm),
    exitCode,
    ...signalOf(vm),
    succeeded: vm.cause === "main_exited" && exitCode === 0 && vm.exit?.signal === 0,
    ...(vm.cause === "out_of_memory" ? { outOfMemory: true } : {}),
  };
}

function causeOf({ cause, status }: Vm): MachineEndCause {
  return cause ?? (status === "stopped" ? "stopped" : "unknown");
}

function signalOf({ exit }: Vm): Pick<ExitReason, "signal"> {
  return exit === undefined || exit.signal <= 0 ? {} : { signal: exit.signal };
}

function unreadable({ cause, reason }: Vm): ExitReason {
  return {
    reason: `disk_unreadable: ${(reason ?? "its host does not say why").slice(0, REASON_MAX_CHARS)}`,
    cause: cause === "not_adopted" ? cause : "disk_unreadable",
    exitCode: null,
    succeeded: false,
    disk: cause === "not_adopted" ? "later" : "lost",
  };
}

/** A start that the host has refused. */
export function exitReasonOfStart(error: unknown): ExitReason {
  const known = error instanceof SkerryError ? error : undefined;
  const isOfDisk = known?.code === "disk_gone" || known?.code === "disk_unreadable";
  const why = `could not start: ${known?.message ?? "internal error"}`;
  return {
    reason: isOfDisk ? `${known.code}: ${why}` : why,
    ...{ cause: "start_failed", exitCode: null, succeeded: false },
    ...(isOfDisk ? { disk: "lost" as const } : {}),
  };
}

/** Its check failed, and its host has stopped it. */
export function exitReasonOfCheck(reason: string | null): ExitReason {
  return {
    reason: `its health check failed: ${reason ?? "its host does not say why"}`,
    ...{ cause: "check_failed", exitCode: null, succeeded: false },
  };
}

/** Its host is back, and does not have its disk. */
export const diskGone: ExitReason = {
  reason: "disk_gone: its host came back without its disk",
  ...{ cause: "disk_gone", exitCode: null, succeeded: false },
  disk: "lost",
};

/** Where the host does not say it in its own words. */
function reasonOf(vm: Vm, exitCode: number | null): string {
  if (vm.status === "stopped") return wordsOf.stopped;
  const code = vm.cause === "main_exited" && exitCode !== null ? ` with ${exitCode}` : "";
  return wordsOf[vm.cause ?? "unknown"] + code;
}

const wordsOf: Readonly<Record<VmCause | "lost" | "stopped" | "unknown", string>> = {
  main_exited: "the main process exited",
  out_of_memory: "the guest ran out of memory",
  guest_panicked: "the guest's kernel panicked",
  guest_shut_down: "the guest shut down",
  qemu_ended: "the microVM's QEMU process ended",
  guest_failed: "the agent in the guest failed",
  host_failed: "its host could not go on with it",
  disk_unreadable: "its host cannot use its disk",
  not_adopted: "its host does not understand its record",
  lost: "its host does not have its microVM any more",
  stopped: "its host stopped it",
  unknown: "its microVM ended, and its host does not know why",
};
