// How each client calls each operation of the OpenAPI document. Without the row of a new operation nothing
// compiles.

import type { OperationId } from "../../src/app/operations.ts";
import { buildClientCalls } from "./build-client-calls.ts";
import type { ClientCall } from "./client-call.ts";
import { hostClientCalls } from "./host-client-calls.ts";
import { machineClientCalls } from "./machine-client-calls.ts";
import { organizationClientCalls } from "./organization-client-calls.ts";
import { platformClientCalls } from "./platform-client-calls.ts";
import { sandboxClientCalls } from "./sandbox-client-calls.ts";

/** Pages and downloads for people and browsers, which the document does not have. */
type OfThePages =
  | "getRoot"
  | `getDashboard${"" | "Root" | "Asset" | "Session"}`
  | `get${"Sdk" | "Cli" | "CliPackage" | "Wheel" | "ClientFile" | "Installer"}`;

export const clientCalls: Readonly<Record<Exclude<OperationId, OfThePages>, ClientCall>> = {
  ...platformClientCalls,
  ...hostClientCalls,
  ...organizationClientCalls,
  ...buildClientCalls,
  ...sandboxClientCalls,
  ...machineClientCalls,
};
