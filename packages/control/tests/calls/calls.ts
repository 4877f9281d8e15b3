// One call of each operation that succeeds, so that tests can go through all of them: a file for each group
// of rooms. A GET whose path has no parameters follows from its declaration. An operation without a call
// throws here.

import { operations, type OperationId } from "../../src/app/operations.ts";
import { appCalls } from "./app-calls.ts";
import { buildCalls } from "./build-calls.ts";
import { call, type Prepare } from "./call.ts";
import { hostCalls } from "./host-calls.ts";
import { machineCalls } from "./machine-calls.ts";
import { organizationCalls } from "./organization-calls.ts";
import { platformCalls } from "./platform-calls.ts";
import { sandboxCalls } from "./sandbox-calls.ts";
import { secretCalls } from "./secret-calls.ts";

const byHand: Partial<Readonly<Record<OperationId, Prepare>>> = {
  ...platformCalls,
  ...hostCalls,
  ...organizationCalls,
  ...buildCalls,
  ...appCalls,
  ...secretCalls,
  ...sandboxCalls,
  ...machineCalls,
};

function callOf(id: OperationId): Prepare {
  const own = byHand[id];
  if (own !== undefined) return own;
  const { method, path } = operations[id];
  if (method !== "GET" || /[:*]/.test(path)) throw new Error(`the operation "${id}" has no call in calls/`);
  return async () => call(method, path);
}

// The entries are those of all operations.
export const calls = Object.fromEntries(
  (Object.keys(operations) as OperationId[]).map((id) => [id, callOf(id)]),
) as Readonly<Record<OperationId, Prepare>>;
