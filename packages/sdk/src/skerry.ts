// The entry of the package: the client, and the names that its users need. (A published package has one door; this
// is the only file that passes on what others define.)

import type { ResourceEventPage } from "@skerry/contract/events/resource-event";
import type { Limits } from "@skerry/contract/limits/limits-report";
import type { Me } from "@skerry/contract/organizations/organization";
import type { Health } from "@skerry/contract/platform/health";
import type { Status } from "@skerry/contract/platform/status";
import type { Usage, UsageQuery } from "@skerry/contract/usage/usage";
import { Audit } from "./audit/audit.ts";
import { followEvents, readEventPage, type EventFilter, type FollowedChange } from "./events/events.ts";
import { BuildCache } from "./builds/build-cache.ts";
import { Builds } from "./builds/builds.ts";
import { BackgroundServices } from "./platform/background-services.ts";
import { Hosts } from "./hosts/hosts.ts";
import { HttpClient, type CallOptions, type SkerryOptions } from "./http/http.ts";
import { Machines } from "./machines/machines.ts";
import { Moves } from "./moves/moves.ts";
import { Organizations } from "./organizations/organizations.ts";
import { Registries } from "./registries/registries.ts";
import { Sizes } from "./platform/sizes.ts";
import { KeptExecutions } from "./vms/executions/kept-executions.ts";
import { Snapshots } from "./snapshots/snapshots.ts";
import { Templates } from "./templates/templates.ts";
import { Sandboxes } from "./sandboxes/sandboxes.ts";
import { Logins } from "./organizations/logins.ts";
import { Tokens } from "./organizations/tokens.ts";

/**
 * A client of one Skerry server. It holds no connection open and needs no closing. Fields have the names that they have
 * in the REST API; durations are strings such as `30s`, `10m` or `1h30m`, times are ISO 8601 in UTC.
 */
export class Skerry {
  readonly sandboxes: Sandboxes;
  readonly machines: Machines;
  readonly snapshots: Snapshots;
  readonly executions: KeptExecutions;
  readonly templates: Templates;
  readonly builds: Builds;
  readonly registries: Registries;
  readonly cache: BuildCache;
  readonly sizes: Sizes;
  readonly tokens: Tokens;
  readonly logins: Logins;
  readonly audit: Audit;
  readonly organizations: Organizations;
  readonly hosts: Hosts;
  readonly moves: Moves;
  readonly backgroundServices: BackgroundServices;
  readonly #http: HttpClient;

  /**
   * In Node, `new Skerry()` finds address and token by itself: in `SKERRY_API_URL` and `SKERRY_API_TOKEN`, then in what `skerry auth login` or
   * `skerry up` has saved. Throws `SkerryInputError` where there is no token, or where the address or the token cannot be one.
   */
  constructor(options: SkerryOptions = {}) {
    this.#http = new HttpClient(options);
    this.sandboxes = new Sandboxes(this.#http);
    this.machines = new Machines(this.#http);
    this.snapshots = new Snapshots(this.#http);
    this.executions = new KeptExecutions(this.#http);
    this.templates = new Templates(this.#http);
    this.builds = new Builds(this.#http);
    this.registries = new Registries(this.#http);
    this.cache = new BuildCache(this.#http);
    this.sizes = new Sizes(this.#http);
    this.tokens = new Tokens(this.#http);
    this.logins = new Logins(this.#http);
    this.audit = new Audit(this.#http);
    this.organizations = new Organizations(this.#http);
    this.hosts = new Hosts(this.#http);
    this.moves = new Moves(this.#http);
    this.backgroundServices = new BackgroundServices(this.#http);
  }

  /** Who is calling, for which organization, and what the token can do there. */
  me(options: CallOptions = {}): Promise<Me> {
    return this.#http.json<Me>({ method: "GET", path: "/v1/auth/me" }, options);
  }

  /** Whether the server answers. Needs no token. */
  health(options: CallOptions = {}): Promise<Health> {
    return this.#http.json<Health>({ method: "GET", path: "/v1/health" }, options);
  }

  /** How much the organization may do and hold, and how much of it is taken. */
  limits(options: CallOptions = {}): Promise<Limits> {
    return this.#http.json<Limits>({ method: "GET", path: "/v1/limits" }, options);
  }

  /** What the organization has had over time, oldest first; of the last 24 h where no `since` is given. `step` is whole minutes, by default `5m`. */
  usage(query: UsageQuery = {}, options: CallOptions = {}): Promise<Usage> {
    return this.#http.json<Usage>({ method: "GET", path: "/v1/usage", query }, options);
  }

  /** What the organization has, by status, and how many hosts there are for it. */
  status(options: CallOptions = {}): Promise<Status> {
    return this.#http.json<Status>({ method: "GET", path: "/v1/status" }, options);
  }

  /**
   * What changes in the organization, as it changes, until `signal` aborts; nothing is left out. A connection that breaks is opened again, and goes on where
   * it was. To know the state of things and keep it: begin to follow, wait for the first `synced`, list, and put what is told over it; an
   * item whose `version` is lower than what is known is old. Throws what does not pass by itself, such as a token that is revoked.
   */
  events(filter: EventFilter = {}, options: CallOptions = {}): AsyncGenerator<FollowedChange, void> {
    return followEvents(this.#http, filter, options);
  }

  /** One page of what has changed after a cursor (`limit`: 50 by default, at most 500); without `after`, the cursor of this moment alone. */
  eventPage(
    query: EventFilter & { readonly limit?: number | undefined } = {},
    options: CallOptions = {},
  ): Promise<ResourceEventPage> {
    return readEventPage(this.#http, query, options);
  }
}

export {
  ConflictError,
  ForbiddenError,
  ImpossibleError,
  InvalidRequestError,
  NotFoundError,
  RateLimitedError,
  SkerryApiError,
  UnauthorizedError,
  UnavailableError,
  type ApiErrorCode,
} from "./errors/api-errors.ts";
export { SkerryConnectionError, SkerryInputError, SkerryTooLargeError } from "./errors/errors.ts";
export type { CallOptions, CreateOptions, Retry, SkerryOptions, TimedOptions } from "./http/http.ts";
export { commandLine, type Command } from "./vms/executions/command-line.ts";
export type { ExecuteEvent } from "./vms/executions/execute-events.ts";
export type { ExecuteOptions } from "./vms/executions/execute.ts";
export type { ExecutionOptions, FollowEvent, FollowOptions } from "./vms/executions/executions.ts";
export { Forward, type ForwardOptions } from "./vms/forward/forward.ts";
export { Shell, type ShellOptions, type ShellOutput } from "./vms/shell.ts";
export type { EventFilter, FollowedChange } from "./events/events.ts";
export type {
  ResourceEvent,
  ResourceEventKind,
  ResourceEventPage,
} from "@skerry/contract/events/resource-event";
export type { Execution } from "@skerry/contract/vms/execution";
export type { ExecutionSignal } from "@skerry/contract/vms/execution-signals";
export type { DownloadOptions, UploadContent, UploadOptions } from "./vms/files/files.ts";
export type {
  FileSystem,
  ListFilesOptions,
  MakeDirectoryOptions,
  RemoveOptions,
  SignFileUrlOptions,
  StatOptions,
} from "./vms/files/file-system.ts";
export type { WatchOptions } from "./vms/files/watch.ts";
export type { FileEvent } from "@skerry/contract/vms/watches";
export type { CountedPage, CountedPageOptions, Page, PageOptions } from "./http/pages.ts";
export type { Size } from "./platform/sizes.ts";
export type { Timing } from "@skerry/contract/server-timing";
export type { Duration } from "@skerry/contract/durations";
export type { SizeName } from "@skerry/contract/sizes";
export type { SandboxCounts, SandboxFilter, Sandboxes } from "./sandboxes/sandboxes.ts";
export type {
  LogOptions,
  MachineCounts,
  MachineFilter,
  Machines,
  StartOptions,
} from "./machines/machines.ts";
export type { MachineEnd } from "@skerry/contract/machines/machine-end";
export type { Machine, MachineCreateRequest, MachineUpdateRequest } from "@skerry/contract/machines/machine";
export { Sandbox } from "./sandboxes/sandbox.ts";
export type { VmCalls } from "./vms/vm-calls.ts";
export type { VmMetrics, VmMetricsPoint, VmMetricsQuery } from "@skerry/contract/vms/metrics";
export type { VmEvent } from "@skerry/contract/vms/events";
export type { Port, PortAccess, PortList } from "@skerry/contract/vms/ports";
export type { SignedUrl } from "@skerry/contract/vms/signed-urls";
export type { SetEgressOptions, SignUrlOptions, SnapshotOptions } from "./vms/vm-calls.ts";
export type { KeptOutputOptions } from "./vms/executions/kept-executions.ts";
export type { KeptExecution, KeptOutput } from "@skerry/contract/vms/kept-execution";
export type { SnapshotFilter } from "./snapshots/snapshots.ts";
export type { Egress, EgressDenial, EgressReport, EgressRequest } from "@skerry/contract/vms/egress";
export type { DirectoryEntry, DirectoryListing, FileInfo, FileWritten } from "@skerry/contract/vms/files";
export type { ExecuteResponse } from "@skerry/contract/vms/execute";
export type {
  Sandbox as SandboxInfo,
  SandboxCreateRequest,
  SandboxUpdateRequest,
} from "@skerry/contract/sandboxes/sandbox";
export type { AuditFilter } from "./audit/audit.ts";
export type { AuditEvent } from "@skerry/contract/audit/audit-event";
export type {
  Limits,
  LimitsChangeRequest,
  OrganizationLimitsReport as OrganizationLimits,
} from "@skerry/contract/limits/limits-report";
export type { Usage, UsagePoint, UsageQuery } from "@skerry/contract/usage/usage";
export type { Health } from "@skerry/contract/platform/health";
export type { Status } from "@skerry/contract/platform/status";
export type { Snapshot } from "@skerry/contract/snapshots/snapshot";
export type { Template } from "@skerry/contract/templates/template";
export type { BuildFilter, BuildLogOptions } from "./builds/builds.ts";
export type {
  BuildOptions,
  FolderBuildOptions,
  FolderBuildRequest,
  PushOptions,
} from "./templates/templates.ts";
export type { FolderPlan, FolderWish } from "./folder/read-folder.ts";
export type { Build, BuildEgress } from "@skerry/contract/builds/build";
export type { BuildRequest } from "@skerry/contract/builds/build-request";
export type { TemplatePushRequest } from "@skerry/contract/builds/template-push";
export type { BuildLog, BuildLogLine } from "@skerry/contract/builds/build-log";
export type {
  RegistryCredential,
  RegistryCredentialRequest,
} from "@skerry/contract/registries/registry-credential";
export type { CacheEntry, ClearedCache } from "@skerry/contract/builds/build-cache";
export type { Role } from "@skerry/contract/organizations/roles";
export type { Scope } from "@skerry/contract/organizations/scopes";
export type {
  Me,
  Member,
  MemberAdded,
  MemberAddRequest,
  Organization,
  OrganizationCreateRequest,
  OrganizationUpdateRequest,
} from "@skerry/contract/organizations/organization";
export type { Authority } from "@skerry/contract/joining/authority";
export type { MoveFilter } from "./moves/moves.ts";
export type { Move } from "@skerry/contract/moves/move";
export type { BackgroundService } from "@skerry/contract/platform/background-service";
export type { Host } from "@skerry/contract/hosts/host";
export type { JoinToken } from "@skerry/contract/joining/join-token";
export type { Token, TokenCreated, TokenCreateRequest } from "@skerry/contract/organizations/token";
