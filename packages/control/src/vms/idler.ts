// A microVM that is put to rest when nothing has used it for a while.

import type { VmRef } from "../host-client/vm-ref.ts";

export interface Idler extends VmRef {
  /** Address of its host. */
  readonly address: string;
  readonly idleMs: number;
  /** Pauses or stops it. */
  readonly end: () => Promise<void>;
}

/** The service that ends it, and what stops that service. */
export interface EndsIdle {
  readonly service: string;
  readonly stop: AbortSignal;
}
