// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

export type { GetAppMetricsQuery, ListAppFailuresQuery } from "./apps.ts";
export type { AuditFilter } from "./audit.ts";
export type { BuildFilter } from "./builds.ts";
export type { UsageQuery } from "./generated-client.ts";
export type { RemoveHostQuery } from "./hosts.ts";
export type { MoveFilter } from "./moves.ts";
export type { SnapshotFilter } from "./snapshots.ts";
export type { App, AppCreateRequest, AppUpdateRequest } from "@skerry/contract/apps/app";
export type { AppFailures } from "@skerry/contract/apps/app-failures";
export type { AppMetrics } from "@skerry/contract/apps/app-metrics";
export type { Deploy } from "@skerry/contract/apps/deploy";
export type { OneOffRequest } from "@skerry/contract/apps/one-off";
export type { DeployCreateRequest, Release } from "@skerry/contract/apps/release";
export type { Route, RouteCreateRequest } from "@skerry/contract/apps/route";
export type { AuditEvent } from "@skerry/contract/audit/audit-event";
export type { Build, BuildEgress } from "@skerry/contract/builds/build";
export type { CacheEntry, ClearedCache } from "@skerry/contract/builds/build-cache";
export type { Host } from "@skerry/contract/hosts/host";
export type { Authority, AuthorityRotateRequest } from "@skerry/contract/joining/authority";
export type { JoinToken } from "@skerry/contract/joining/join-token";
export type {
  Limits,
  LimitsChangeRequest,
  OrganizationLimitsReport,
} from "@skerry/contract/limits/limits-report";
export type { Machine } from "@skerry/contract/machines/machine";
export type { Move } from "@skerry/contract/moves/move";
export type {
  Me,
  Member,
  MemberAddRequest,
  MemberAdded,
  MemberUpdateRequest,
  Organization,
  OrganizationCreateRequest,
  OrganizationUpdateRequest,
} from "@skerry/contract/organizations/organization";
export type { Token, TokenCreateRequest, TokenCreated } from "@skerry/contract/organizations/token";
export type { BackgroundService, BackgroundServiceList } from "@skerry/contract/platform/background-service";
export type { Health } from "@skerry/contract/platform/health";
export type { SizeInfo, SizeList } from "@skerry/contract/platform/size-list";
export type { Status } from "@skerry/contract/platform/status";
export type {
  RegistryCredential,
  RegistryCredentialList,
  RegistryCredentialRequest,
} from "@skerry/contract/registries/registry-credential";
export type {
  Secret,
  SecretDeleted,
  SecretHistory,
  SecretList,
  SecretRollbackRequest,
  SecretSetRequest,
} from "@skerry/contract/secrets/secret";
export type { Snapshot } from "@skerry/contract/snapshots/snapshot";
export type { Template, TemplateList, TemplateTagRequest } from "@skerry/contract/templates/template";
export type { Usage } from "@skerry/contract/usage/usage";
export type { KeptExecution } from "@skerry/contract/vms/kept-execution";
