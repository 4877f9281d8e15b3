// Secrets that requests of a VM got on their way are told in its log, as recurring as what its rules refuse.

import { telling } from "./0051-bounded-rows.ts";

export const injectedEvents = telling(["denied", "out_of_memory", "injected"]);
