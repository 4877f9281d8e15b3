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
export type ExecutionSignal = keyof typeof executionSignals;
