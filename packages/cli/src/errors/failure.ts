/** The text of a failure, as the user reads it. */
export interface Failure {
  readonly message: string;
  readonly code: string;
  readonly remediation?: string | undefined;
  /** Printed below, each on a line of its own: the end of a log, what a program said. */
  readonly lines?: readonly string[] | undefined;
  readonly requestId?: string | undefined;
}
