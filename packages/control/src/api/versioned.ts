import type { Caller } from "../caller.ts";

/** A resource as its row had it at this version. How much of it is shown depends on the caller. */
export interface Versioned<Resource> {
  readonly id: string;
  readonly version: number;
  readonly shownTo: (caller: Caller) => Resource;
}
