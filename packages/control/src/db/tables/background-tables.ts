// Leases of background services, and eras of the database's clock.

import type { Generated } from "kysely";
import type { Json, MaybeTime, Time } from "./columns.ts";

declare module "../database.ts" {
  interface Tables {
    leases: {
      name: string;
      holder: string;
      token: string;
      expires_at: Time;
      due_at: Time;
      rung: Generated<boolean>;
      last_run_at: MaybeTime;
      last_run: Json<LeaseRun | null>;
    };
    clock_eras: {
      number: number;
      began_at: Time;
      /** The step of the clock that began the era; negative: back. */
      stepped_ms: string;
      vouched_until: Time;
    };
  }
}

/** Result of a run of a background service, or why it failed. */
export interface LeaseRun {
  readonly holder: string;
  readonly duration_ms: number;
  readonly examined?: number;
  readonly changed?: number;
  readonly failed?: number;
  readonly error?: string;
}
