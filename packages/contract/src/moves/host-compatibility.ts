// Live-migration compatibility: a running guest can move to a host with the same accelerator, the same release
// of QEMU or a later update of it, and the same guest CPU. An emulated guest also needs a TSC rate within 0.05 % of its own, because
// it keeps time by that rate.

import { Type, type Static } from "typebox";
import { Nullable, OneOf } from "../fields.ts";

/** The properties of a host that a running guest depends on. */
export const HostCompatibility = Type.Object(
  {
    accelerator: OneOf(["kvm", "tcg"]),
    qemu_version: Type.String({ maxLength: 200 }),
    cpu: Type.String({
      maxLength: 200,
      description: "Which CPU a guest sees, in a form that can be compared.",
    }),
    /** TSC rate of an emulated guest; null where the guest uses the TSC of the hardware. */
    tsc_khz: Nullable(Type.Integer({ minimum: 1 })),
  },
  { additionalProperties: false },
);
export type HostCompatibility = Static<typeof HostCompatibility>;

/** Relative difference of the TSC rates: 0.05 % is 43 s in a day. Two machines of the same kind differ by
 *  far less. */
const TSC_TOLERANCE = 0.0005;

const byNumbers = new Intl.Collator("en", { numeric: true });

/** At the end of the version of the smaller QEMU that packages have beside the full one. What one of them has saved is not given to the other. */
export const SMALLER_QEMU = " microvm";

/** Whether a version such as `7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)` is that one or a later update of the same release: QEMU promises for a
 *  microvm that what it saved is understood by neither an older version nor another release. */
function isUpdateOf(version: string, of: string): boolean {
  const release = (text: string): string | undefined => /^\d+\.\d+(?!\d)/.exec(text)?.[0];
  const isSmall = (text: string): boolean => text.endsWith(SMALLER_QEMU);
  if (version === of) return true;
  if (isSmall(version) !== isSmall(of)) return false;
  return (
    release(version) !== undefined && release(version) === release(of) && byNumbers.compare(version, of) > 0
  );
}

/** Why a guest of the host `here` cannot run on the host `there`, in words for the operator; undefined
 *  where it can. */
export function incompatibility(here: HostCompatibility, there: HostCompatibility): string | undefined {
  if (here.accelerator !== there.accelerator)
    return `the accelerator is ${there.accelerator} there and ${here.accelerator} here`;
  if (!isUpdateOf(there.qemu_version, here.qemu_version))
    return `QEMU is ${there.qemu_version} there and ${here.qemu_version} here`;
  if (here.cpu !== there.cpu) return `the CPU is another: ${there.cpu} there, ${here.cpu} here`;
  if ((here.tsc_khz === null) !== (there.tsc_khz === null))
    return "only one of the two has a clock of its own";
  if (here.tsc_khz === null || there.tsc_khz === null) return undefined;
  return Math.abs(there.tsc_khz - here.tsc_khz) > here.tsc_khz * TSC_TOLERANCE
    ? `its clock would run at ${there.tsc_khz} kHz there and runs at ${here.tsc_khz} kHz here`
    : undefined;
}
