import type { MachineReport } from "@skerry/contract/hosts/machine-report";
import { notTried, ok, type Outcome } from "./outcome.ts";

/** What a frozen guest depends on, and what may change while a machine is off. */
const WATCHED = ["CPU", "CPU of guests", "microcode", "kernel", "QEMU", "accelerator"] as const;

/** What an earlier report of this machine said otherwise, at best from before a reboot. */
export function compareReports(
  earlier: MachineReport | undefined,
  machine: Readonly<Record<string, string>>,
): Outcome {
  if (earlier === undefined) return notTried("there is no earlier report: run it again after a reboot");
  const changed = WATCHED.filter((name) => earlier.machine[name] !== machine[name]);
  const since = `since ${earlier.made_at}${earlier.machine["boot"] === machine["boot"] ? ", without a reboot" : ", over a reboot"}`;
  if (changed.length === 0) return ok(`nothing has changed ${since}`);
  const shown = changed.map(
    (name) => `${name} was ${earlier.machine[name] ?? "unknown"} and is ${machine[name] ?? "unknown"}`,
  );
  return ok(`${shown.join("; ")}, ${since}: templates are frozen anew`);
}
