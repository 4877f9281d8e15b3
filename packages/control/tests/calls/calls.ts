// One call of each operation that succeeds, so that tests can go through all of them: a file for each group of rooms. Without the call of a new operation
// nothing compiles.

import type { OperationId } from "../../src/app/operations.ts";
import { buildCalls } from "./build-calls.ts";
import type { Prepare } from "./call.ts";
import { hostCalls } from "./host-calls.ts";
import { machineCalls } from "./machine-calls.ts";
import { organizationCalls } from "./organization-calls.ts";
import { platformCalls } from "./platform-calls.ts";
import { sandboxCalls } from "./sandbox-calls.ts";

export const calls: Readonly<Record<OperationId, Prepare>> = {
  ...platformCalls,
  ...hostCalls,
  ...organizationCalls,
  ...buildCalls,
  ...sandboxCalls,
  ...machineCalls,
};
