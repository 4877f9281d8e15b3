// All that the API can do, in the order of its document: a room that has routes is a line here.

import type { Operation } from "../api/operation.ts";
import { buildRoutes } from "../builds/build-routes.ts";
import { cacheRoutes } from "../builds/cache-routes.ts";
import { clientRoutes } from "../clients/client-routes.ts";
import { limitRoutes } from "../capacity/limit-routes.ts";
import { docsRoutes, openapiRoutes } from "../docs/docs-routes.ts";
import { eventRoutes } from "../events/event-routes.ts";
import { hostRoutes } from "../hosts/host-routes.ts";
import { joinRoutes } from "../joining/join-routes.ts";
import { machineLogRoutes } from "../machines/machine-log-routes.ts";
import { machinePowerRoutes, machineRoutes, machineVmRoutes } from "../machines/machine-routes.ts";
import { machineSnapshotRoutes } from "../machines/machine-snapshot-routes.ts";
import { drainRoutes } from "../moves/drain-routes.ts";
import { moveRoutes } from "../moves/move-routes.ts";
import { auditRoutes } from "../organizations/audit-routes.ts";
import { memberRoutes } from "../organizations/member-routes.ts";
import { organizationRoutes } from "../organizations/organization-routes.ts";
import { tokenRoutes } from "../organizations/token-routes.ts";
import { backgroundServiceRoutes } from "../platform/background-service-routes.ts";
import { healthRoutes } from "../platform/health-routes.ts";
import { metricsRoutes } from "../platform/metrics-routes.ts";
import { statusRoutes } from "../platform/status-routes.ts";
import { keptExecutionRoutes } from "../sandboxes/kept-execution-routes.ts";
import { sandboxRoutes, sandboxVmRoutes } from "../sandboxes/sandbox-routes.ts";
import { sandboxSnapshotRoutes } from "../sandboxes/sandbox-snapshot-routes.ts";
import { loginRoutes } from "../logins/login-routes.ts";
import { registryRoutes } from "../registries/registry-routes.ts";
import { snapshotRoutes } from "../snapshots/snapshot-routes.ts";
import { templateRoutes } from "../templates/template-routes.ts";
import { usageRoutes } from "../usage/usage-routes.ts";
import { dashboardRoutes } from "../web/dashboard-routes.ts";

export const allRoutes = [
  sandboxRoutes,
  sandboxVmRoutes,
  sandboxSnapshotRoutes,
  keptExecutionRoutes,
  snapshotRoutes,
  machineRoutes,
  machinePowerRoutes,
  machineLogRoutes,
  machineVmRoutes,
  machineSnapshotRoutes,
  templateRoutes,
  buildRoutes,
  registryRoutes,
  cacheRoutes,
  eventRoutes,
  tokenRoutes,
  loginRoutes,
  organizationRoutes,
  memberRoutes,
  limitRoutes,
  usageRoutes,
  auditRoutes,
  hostRoutes,
  drainRoutes,
  moveRoutes,
  joinRoutes,
  statusRoutes,
  backgroundServiceRoutes,
  metricsRoutes,
  docsRoutes,
  dashboardRoutes,
  clientRoutes,
  openapiRoutes,
  healthRoutes,
] as const;

type IdOf<All> = All extends unknown ? keyof All : never;
export type OperationId = IdOf<(typeof allRoutes)[number]["operations"]>;

export const operations: Readonly<Record<OperationId, Operation>> = merged();

function merged(): Record<OperationId, Operation> {
  const entries = allRoutes.flatMap((routes): [string, Operation][] => Object.entries(routes.operations));
  const ids = entries.map(([id]) => id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw new Error(`two operations have the id "${twice}"`);
  // The entries are those of all groups, whose ids the type is made of.
  return Object.fromEntries(entries) as Record<OperationId, Operation>;
}
