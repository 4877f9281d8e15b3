// Can a running guest go on over there? It has seen its CPU and its clock, and QEMU's own state fits the same QEMU only.

import type { Footing } from "./host-moves.ts";

/** Of an emulated guest's clock: 0.05 % is 43 s in a day. Two machines of the same kind differ by far less. */
const TSC_TOLERANCE = 0.0005;

/** Why not, in words for the operator; undefined where it can. */
export function footingFault(here: Footing, there: Footing): string | undefined {
  if (here.accelerator !== there.accelerator)
    return `the accelerator is ${there.accelerator} there and ${here.accelerator} here`;
  if (here.qemu_version !== there.qemu_version)
    return `QEMU is ${there.qemu_version} there and ${here.qemu_version} here`;
  if (here.cpu !== there.cpu) return `the CPU is another: ${there.cpu} there, ${here.cpu} here`;
  if ((here.tsc_khz === null) !== (there.tsc_khz === null))
    return "only one of the two has a clock of its own";
  if (here.tsc_khz === null || there.tsc_khz === null) return undefined;
  return Math.abs(there.tsc_khz - here.tsc_khz) > here.tsc_khz * TSC_TOLERANCE
    ? `its clock would run at ${there.tsc_khz} kHz there and runs at ${here.tsc_khz} kHz here`
    : undefined;
}
