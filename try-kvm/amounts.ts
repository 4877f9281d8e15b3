// How much `npm run try-kvm` tries: enough for a judgement in about five minutes with KVM, or enough to see that it works.

import { quick as quickBench, type Scale } from "../bench/scale.ts";

export interface Amount {
  /** What `skerry doctor --thorough` is given. */
  readonly doctor: "full" | "quick" | "long";
  readonly bench: Scale;
  readonly diskMb: number;
  readonly consoleKb: number;
  readonly roundTrips: number;
  /** Of each kind, where there is memory for them. */
  readonly restingGuests: number;
  readonly restS: number;
  /** Emulated, a guest of the other size is moved: the large one would take minutes. */
  readonly largeMove: { readonly size: string; readonly emulatedSize: string; readonly writesMbPerS: number };
}

const full: Amount = {
  doctor: "full",
  bench: {
    ...quickBench,
    ...{ lifeRounds: 20, coldRounds: 10, executeRounds: 20, bulkRounds: 3, move: { rounds: 20 } },
  },
  diskMb: 500,
  consoleKb: 200,
  roundTrips: 200,
  restingGuests: 50,
  restS: 10,
  largeMove: { size: "performance-4x", emulatedSize: "shared-cpu-2x", writesMbPerS: 500 },
};

const few: Amount = {
  ...full,
  doctor: "quick",
  bench: {
    ...quickBench,
    ...{ lifeRounds: 1, coldRounds: 1, executeRounds: 1, bulkRounds: 1, move: { rounds: 1 } },
  },
  ...{ diskMb: 20, consoleKb: 10, roundTrips: 5, restingGuests: 1, restS: 1 },
  largeMove: { size: "shared-cpu-2x", emulatedSize: "shared-cpu-1x", writesMbPerS: 20 },
};

export const amounts = { full, quick: few, long: { ...full, doctor: "long" } } as const satisfies Record<
  string,
  Amount
>;
