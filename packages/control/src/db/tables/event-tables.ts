// The log of the life of each sandbox and machine. Triggers write most of it.

import type { Json } from "./columns.ts";
import type { VmEventKind } from "@skerry/contract/vms/events";

declare module "../database.ts" {
  interface Tables {
    vm_events: {
      id: string;
      org_id: string;
      vm_id: string;
      kind: VmEventKind;
      reason: string | null;
      at: Date;
      /** PostgreSQL's driver tells large integers as text. */
      count: string;
      last_at: Date;
    };
    injected_counts: {
      vm_id: string;
      execution_id: string;
      /** Counts by secret and host, with a space between the two. */
      counts: Json<Readonly<Record<string, number>>>;
    };
  }
}

/** The event as which the end of the transition under way will be told. */
export interface NextEvent {
  readonly kind: VmEventKind;
  readonly reason?: string;
}
