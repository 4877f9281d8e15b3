// How long guests may take, in one place, because a factor applies to all of it: there are machines whose KVM is right and slow (another
// hypervisor's, or one that interprets a guest's kernel).

export interface GuestDeadlines {
  /** From power-on to the agent's first answer. It takes 2 to 6 s emulated with one vCPU; with more vCPUs than cores they take turns, and a
   *  machine may have a journal to recover. */
  readonly bootMs: number;
  /** One command before a template is frozen. */
  readonly templateWarmUpMs: number;
  readonly freezeMs: number;
  readonly restoreMs: number;
  /** From the restore of a clone to its agent's first answer. */
  readonly answerMs: number;
  /** One command in a clone that will wait. */
  readonly cloneWarmUpMs: number;
}

const usual: GuestDeadlines = {
  bootMs: 120_000,
  templateWarmUpMs: 60_000,
  freezeMs: 60_000,
  restoreMs: 30_000,
  answerMs: 30_000,
  cloneWarmUpMs: 10_000,
};

/** A guest on working KVM is frozen and cloned within a second; one that hangs keeps the host from starting for as long as this. */
const ofProbe: GuestDeadlines = {
  ...usual,
  bootMs: 8_000,
  freezeMs: 5_000,
  restoreMs: 5_000,
  answerMs: 5_000,
};

export function guestDeadlines(factor: number): GuestDeadlines {
  return multiplied(usual, factor);
}

/** For the guest that shows whether KVM works here. */
export function probeDeadlines(factor: number): GuestDeadlines {
  return multiplied(ofProbe, factor);
}

function multiplied(deadlines: GuestDeadlines, factor: number): GuestDeadlines {
  const entries = Object.entries(deadlines).map(([name, ms]: [string, number]) => [name, ms * factor]);
  return Object.fromEntries(entries) as unknown as GuestDeadlines;
}
