import type { PortConnection } from "../../host-client/port-connection.ts";

export interface ForwardTarget {
  /** One connection more. Throws a `SkerryError` where there is none. */
  connect(left: AbortSignal): Promise<PortConnection>;
  /** The error to tell of a connection that was cut off. */
  lost(error: unknown): Promise<unknown>;
  /** Aborts with a `SkerryError` when all must end. */
  readonly ended: AbortSignal;
}
