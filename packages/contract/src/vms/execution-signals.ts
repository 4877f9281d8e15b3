/** Signals that can be sent to an execution, and their numbers in Linux. */
export const executionSignals = {
  HUP: 1,
  INT: 2,
  QUIT: 3,
  KILL: 9,
  USR1: 10,
  USR2: 12,
  TERM: 15,
  CONT: 18,
  STOP: 19,
  WINCH: 28,
} as const;
type BareSignal = keyof typeof executionSignals;
export type ExecutionSignal = BareSignal | `SIG${BareSignal}`;

const bare = Object.keys(executionSignals) as BareSignal[];

/** With and without `SIG`, because both are common. */
export const executionSignalNames: readonly ExecutionSignal[] = [
  ...bare,
  ...bare.map((name) => `SIG${name}` as const),
];

export function signalNumber(name: ExecutionSignal): number {
  return executionSignals[name.replace(/^SIG/, "") as BareSignal];
}
