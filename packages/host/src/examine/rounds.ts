// How much of everything is tried: enough for a judgement, or enough to see that it works.

export interface Rounds {
  /** Cold boots, for each number of CPUs. */
  readonly boots: number;
  /** Under emulation each takes seconds. */
  readonly emulatedBoots: number;
  readonly clones: number;
  readonly idleS: number;
  /** How long a guest's clock is watched. */
  readonly strayS: number;
  /** How long guests are stopped. */
  readonly stopsS: readonly number[];
  readonly monotonicS: number;
  /** Of `stop` and `cont`. */
  readonly pauses: number;
}

export const fullRounds: Rounds = {
  boots: 10,
  emulatedBoots: 2,
  clones: 20,
  idleS: 5,
  strayS: 60,
  stopsS: [1, 60],
  monotonicS: 10,
  pauses: 1_000,
};

/** Also looks at a guest that was stopped for ten minutes. */
export const longRounds: Rounds = { ...fullRounds, stopsS: [...fullRounds.stopsS, 600] };

export const quickRounds: Rounds = {
  boots: 1,
  emulatedBoots: 1,
  clones: 2,
  idleS: 1,
  strayS: 1,
  stopsS: [1],
  monotonicS: 1,
  pauses: 20,
};
