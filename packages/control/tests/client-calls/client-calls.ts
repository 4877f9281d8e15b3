// How each client calls the operations of the OpenAPI document: a row says what does not follow from the
// declaration. An operation whose methods are generated needs none.

import type { OperationId } from "../../src/app/operations.ts";
import { appClientCalls } from "./app-client-calls.ts";
import { buildClientCalls } from "./build-client-calls.ts";
import type { ClientCall } from "./client-call.ts";
import { hostClientCalls } from "./host-client-calls.ts";
import { machineClientCalls } from "./machine-client-calls.ts";
import { organizationClientCalls } from "./organization-client-calls.ts";
import { platformClientCalls } from "./platform-client-calls.ts";
import { sandboxClientCalls } from "./sandbox-client-calls.ts";
import { secretClientCalls } from "./secret-client-calls.ts";

export const clientCalls: Partial<Readonly<Record<OperationId, ClientCall>>> = {
  ...platformClientCalls,
  ...hostClientCalls,
  ...organizationClientCalls,
  ...buildClientCalls,
  ...appClientCalls,
  ...secretClientCalls,
  ...sandboxClientCalls,
  ...machineClientCalls,
};
