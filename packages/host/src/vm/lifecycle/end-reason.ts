// The end of a VM: a reason for its owner, and a cause that decides whether it is started again.

import type { MainExit } from "@skerry/contract/host-api/vm";
import type { VmCause } from "@skerry/contract/vms/vm-causes";
import { signalName } from "../../system/signals.ts";

/** The fields of the record of a VM that has ended. */
export interface EndReason {
  readonly status: "gone" | "stopped" | "paused";
  readonly reason: string | null;
  readonly cause?: VmCause;
  readonly exit?: MainExit;
}

/** The end of a VM that was told to stop. */
export const stopped: EndReason = { status: "stopped", reason: null };

/** The end of a VM that stands still in files. */
export const paused: EndReason = { status: "paused", reason: null };

/** The message of a kernel that resets the machine of its own accord. */
const PANIC = /Kernel panic - not syncing(?:: (Out of memory|System is deadlocked on memory))?/;

/** From QEMU's own word for it, and from the end of the console, where that was kept: with `panic=-1
 *  reboot=t` a panic and a reboot are the same to QEMU. A guest can write what it likes there, and then
 *  deceives its owner, who is itself. */
export function endOfQemu(shutdownReason: string | undefined, consoleLogEnd: string | undefined): EndReason {
  switch (shutdownReason) {
    case undefined:
      return gone("qemu_ended", "the microVM's QEMU process was killed or crashed");
    case "guest-reset":
      return endOfReset(consoleLogEnd);
    case "guest-shutdown":
      return gone("guest_shut_down", "the guest shut down");
    case "guest-panic":
      return gone("guest_panicked", "the guest's kernel panicked");
    default:
      return gone("qemu_ended", `QEMU ended with the reason ${shutdownReason}`);
  }
}

/** QEMU lives on, and its guest never will. */
export const endOfGivenUp: EndReason = gone("qemu_ended", "KVM could not execute the guest's code");

/** A QEMU that has begun to end and hangs. */
export function endOfHungQemu(shutdownReason: string | undefined): EndReason {
  const why = shutdownReason === undefined ? "without a reason" : `with the reason ${shutdownReason}`;
  return gone("qemu_ended", `QEMU was ending ${why}, and hung`);
}

function endOfReset(consoleLogEnd: string | undefined): EndReason {
  if (consoleLogEnd === undefined)
    return gone("guest_shut_down", "the guest rebooted or its kernel panicked");
  const panic = PANIC.exec(consoleLogEnd);
  if (panic === null) return gone("guest_shut_down", "the guest rebooted");
  if (panic[1] === undefined) return gone("guest_panicked", "the guest's kernel panicked");
  return gone("out_of_memory", "the guest's kernel ran out of memory and panicked");
}

export function endOfChannel(message: string): EndReason {
  return gone("guest_failed", message);
}

/** A shell that lost its command to the kernel ends with a failure of its own, so the signal alone does
 *  not tell. */
export function endOfMain(exit: MainExit): EndReason {
  if (exit.oom_killed && exit.exit_code !== 0) {
    const reason = "the guest ran out of memory, and its kernel killed the main process";
    return { ...gone("out_of_memory", reason), exit };
  }
  const how = exit.signal === 0 ? `exited with ${exit.exit_code}` : `was ended by ${signalName(exit.signal)}`;
  return { ...gone("main_exited", `the main process ${how}`), exit };
}

export function endOfHost(reason: string): EndReason {
  return gone("host_failed", reason);
}

function gone(cause: VmCause, reason: string): EndReason {
  return { status: "gone", reason, cause };
}
