// What the end of a microVM says about its machine. Pure.

import type { Vm, VmCause } from "@skerry/contract/host-api";

export interface Ending {
  readonly reason: string;
  /** Of the main process; null where it is not known. */
  readonly exitCode: number | null;
  /** Its main process exited with 0: the machine has done its work. */
  readonly succeeded: boolean;
}

/** A host may say more than a person wants to read. */
const REASON_MAX_CHARS = 300;

/** The end of the microVM that the host lists, or of one that it does not have any more. */
export function endingOf(vm: Vm | undefined): Ending {
  if (vm === undefined) return { reason: wordsOf.lost, exitCode: null, succeeded: false };
  const exitCode = vm.exit?.exit_code ?? null;
  return {
    reason: vm.reason?.slice(0, REASON_MAX_CHARS) ?? reasonOf(vm, exitCode),
    exitCode,
    succeeded: vm.cause === "main_exited" && exitCode === 0 && vm.exit?.signal === 0,
  };
}

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
  lost: "its host does not have its microVM any more",
  stopped: "its host stopped it",
  unknown: "its microVM ended, and its host does not know why",
};
