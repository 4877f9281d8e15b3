import type { FailedAttempt, WaitKind } from "@skerry/contract/waits-for";

/** The cause of a delay, as rows of builds and of the queue of restarts keep it. */
export interface StoredWait {
  readonly kind: WaitKind;
  readonly id: string | null;
  readonly name: string | null;
  /** Follows what is waited for: `which its host makes`. */
  readonly text: string;
  readonly failure?: FailedAttempt;
  readonly since: string;
}
