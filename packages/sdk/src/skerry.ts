// The entry of the package: the client, and the names that its users need. (A published package has one door; this
// is the only file that passes on what others define.)

import type { ResourceEventPage } from "@skerry/contract/events/resource-event";
import type { SizeInfo } from "@skerry/contract/platform/size-list";
import { Apps } from "./apps/apps.ts";
import { Audit } from "./audit/audit.ts";
import { followEvents, readEventPage, type EventFilter, type FollowedChange } from "./events/events.ts";
import { GeneratedClient } from "./generated/generated-client.ts";
import { Builds } from "./builds/builds.ts";
import { HttpClient, type CallOptions, type SkerryOptions } from "./http/http.ts";
import { Machines } from "./machines/machines.ts";
import { KeptExecutions } from "./vms/executions/kept-executions.ts";
import { Templates } from "./templates/templates.ts";
import { Sandboxes } from "./sandboxes/sandboxes.ts";
import { Logins } from "./organizations/logins.ts";

/**
 * A client of one Skerry server. It holds no connection open and needs no closing. Fields have the names that they have
 * in the REST API; durations are strings such as `30s`, `10m` or `1h30m`, times are ISO 8601 in UTC.
 */
export class Skerry extends GeneratedClient {
  readonly sandboxes: Sandboxes;
  readonly machines: Machines;
  readonly executions: KeptExecutions;
  readonly templates: Templates;
  readonly builds: Builds;
  readonly apps: Apps;
  readonly logins: Logins;
  readonly audit: Audit;
  readonly #http: HttpClient;

  /**
   * In Node, `new Skerry()` finds address and token by itself: in `SKERRY_API_URL` and `SKERRY_API_TOKEN`, then in what `skerry auth login` or
   * `skerry up` has saved. Throws `SkerryInputError` where there is no token, or where the address or the token cannot be one.
   */
  constructor(options: SkerryOptions = {}) {
    const http = new HttpClient(options);
    super(http);
    this.#http = http;
    this.sandboxes = new Sandboxes(http);
    this.machines = new Machines(http);
    this.executions = new KeptExecutions(http);
    this.templates = new Templates(http);
    this.builds = new Builds(http);
    this.apps = new Apps(http);
    this.logins = new Logins(http);
    this.audit = new Audit(http);
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
export {
  SkerryConnectionError,
  SkerryInputError,
  SkerryStatusError,
  SkerryTooLargeError,
} from "./errors/errors.ts";
export type { CallOptions, CreateOptions, Retry, SkerryOptions, TimedOptions } from "./http/http.ts";
export { commandLine, type Command } from "./vms/executions/command-line.ts";
export type { ExecuteEvent } from "./vms/executions/execute-events.ts";
export type { ExecuteOptions } from "./vms/executions/execute.ts";
export type { ExecutionOptions, FollowEvent, FollowOptions } from "./vms/executions/executions.ts";
export { Forward, type ForwardOptions } from "./vms/forward/forward.ts";
export { Shell, type ShellOptions, type ShellOutput } from "./vms/shell.ts";
export type { WaitOptions } from "./events/wait-for-status.ts";
export type { EventFilter, FollowedChange } from "./events/events.ts";
export type { AppLogOptions, Apps, FollowAppLogOptions } from "./apps/apps.ts";
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
export type { KeptOutput } from "@skerry/contract/vms/kept-execution";
export type { InjectRule } from "@skerry/contract/vms/inject";
export type {
  Egress,
  EgressDenial,
  EgressInjection,
  EgressReport,
  EgressRequest,
} from "@skerry/contract/vms/egress";
export type { DirectoryEntry, DirectoryListing, FileInfo, FileWritten } from "@skerry/contract/vms/files";
export type { ExecuteResponse } from "@skerry/contract/vms/execute";
export type {
  Sandbox as SandboxInfo,
  SandboxCreateRequest,
  SandboxUpdateRequest,
} from "@skerry/contract/sandboxes/sandbox";
export type { OrganizationLimitsReport as OrganizationLimits } from "@skerry/contract/limits/limits-report";
export type { UsagePoint } from "@skerry/contract/usage/usage";
/** `memory_mib` is in MiB; `cpu` says whether the CPUs are shared with others. */
export type Size = SizeInfo;
export type { BuildLogOptions } from "./builds/builds.ts";
export type {
  BuildOptions,
  FolderBuildOptions,
  FolderBuildRequest,
  PushOptions,
} from "./templates/templates.ts";
export type { FolderPlan, FolderWish } from "./folder/read-folder.ts";
export type { BuildRequest } from "@skerry/contract/builds/build-request";
export type { TemplatePushRequest } from "@skerry/contract/builds/template-push";
export type { BuildLog, BuildLogLine } from "@skerry/contract/builds/build-log";
export type { Role } from "@skerry/contract/organizations/roles";
export type { Scope } from "@skerry/contract/organizations/scopes";
export type * from "./generated/types.ts";
