// A sandbox in hand: what the server last said about it, and everything that one does with it.

import type { Duration } from "@skerry/contract/durations";
import type { EgressReport, EgressRequest } from "@skerry/contract/vms/egress";
import type { DirectoryListing, FileWritten } from "@skerry/contract/vms/files";
import type { VmMetrics, VmMetricsQuery } from "@skerry/contract/vms/metrics";
import type { VmEvent } from "@skerry/contract/vms/events";
import type { PortAccess, PortList } from "@skerry/contract/vms/ports";
import type { SignedUrl } from "@skerry/contract/vms/signed-urls";
import type { ExecuteResponse } from "@skerry/contract/vms/execute";
import type { Sandbox as SandboxInfo, SandboxUpdateRequest } from "@skerry/contract/sandboxes/sandbox";
import type { Command } from "../vms/executions/command-line.ts";
import type { ExecuteEvent } from "../vms/executions/execute-events.ts";
import type { ExecuteOptions } from "../vms/executions/execute.ts";
import type { Execution } from "@skerry/contract/vms/execution";
import type { ExecutionSignal } from "@skerry/contract/vms/execution-signals";
import type { FollowEvent, FollowOptions, ExecutionOptions } from "../vms/executions/executions.ts";
import type { Page, PageOptions } from "../http/pages.ts";
import type { Shell, ShellOptions } from "../vms/shell.ts";
import type { DownloadOptions, UploadContent, UploadOptions } from "../vms/files/files.ts";
import type { SetEgressOptions, SignUrlOptions, SnapshotOptions, VmCalls } from "../vms/vm-calls.ts";
import type { Snapshot } from "@skerry/contract/snapshots/snapshot";
import type { Forward, ForwardOptions } from "../vms/forward/forward.ts";
import type { FileSystem } from "../vms/files/file-system.ts";
import type { CallOptions, CreateOptions } from "../http/http.ts";

/** The calls that a sandbox makes with its own id; `Sandboxes` has them for any id. */
export interface SandboxCalls extends VmCalls {
  get(id: string, options?: CallOptions): Promise<Sandbox>;
  update(id: string, changes: SandboxUpdateRequest, options?: CallOptions): Promise<Sandbox>;
  wait(
    id: string,
    until: SandboxInfo["status"] | readonly SandboxInfo["status"][],
    options?: CallOptions,
  ): Promise<Sandbox>;
  keepalive(id: string, timeout?: Duration, options?: CallOptions): Promise<Sandbox>;
  pause(id: string, options?: CallOptions): Promise<Sandbox>;
  resume(id: string, options?: CallOptions): Promise<Sandbox>;
  fork(id: string, count?: number, options?: CreateOptions): Promise<Sandbox[]>;
  rollback(id: string, snapshot: string, options?: CallOptions): Promise<Sandbox>;
  destroy(id: string, options?: CallOptions): Promise<void>;
}

/** `await using sandbox = await skerry.sandboxes.create(…)` destroys it at the end of the block. */
export class Sandbox {
  static {
    // What Node's `console.log` shows. Not a method: no caller needs it, and its name is one of Node alone.
    Object.defineProperty(this.prototype, Symbol.for("nodejs.util.inspect.custom"), { value: inspected });
  }

  readonly #sandboxes: SandboxCalls;
  #info: SandboxInfo;

  constructor(sandboxes: SandboxCalls, info: SandboxInfo) {
    this.#sandboxes = sandboxes;
    this.#info = info;
  }

  get id(): string {
    return this.#info.id;
  }

  /**
   * As of the last `create`, `get`, `refresh`, `update`, `keepalive`, `pause` or `resume`; it does not follow
   * the server by itself.
   */
  get info(): SandboxInfo {
    return this.#info;
  }

  get name(): SandboxInfo["name"] {
    return this.#info.name;
  }

  /** As old as `info`. */
  get status(): SandboxInfo["status"] {
    return this.#info.status;
  }

  get expires_at(): SandboxInfo["expires_at"] {
    return this.#info.expires_at;
  }

  async refresh(options: CallOptions = {}): Promise<this> {
    this.#info = (await this.#sandboxes.get(this.id, options)).info;
    return this;
  }

  /** See `Sandboxes.wait`. */
  async wait(
    until: SandboxInfo["status"] | readonly SandboxInfo["status"][],
    options: CallOptions = {},
  ): Promise<this> {
    this.#info = (await this.#sandboxes.wait(this.id, until, options)).info;
    return this;
  }

  /** See `Sandboxes.update`. */
  async update(changes: SandboxUpdateRequest, options: CallOptions = {}): Promise<this> {
    this.#info = (await this.#sandboxes.update(this.id, changes, options)).info;
    return this;
  }

  /** See `Sandboxes.keepalive`. */
  async keepalive(timeout?: Duration, options: CallOptions = {}): Promise<this> {
    this.#info = (await this.#sandboxes.keepalive(this.id, timeout, options)).info;
    return this;
  }

  /** See `Sandboxes.pause`. */
  async pause(options: CallOptions = {}): Promise<this> {
    this.#info = (await this.#sandboxes.pause(this.id, options)).info;
    return this;
  }

  /** See `Sandboxes.resume`. */
  async resume(options: CallOptions = {}): Promise<this> {
    this.#info = (await this.#sandboxes.resume(this.id, options)).info;
    return this;
  }

  /** See `Sandboxes.snapshot`. */
  snapshot(options: SnapshotOptions = {}): Promise<Snapshot> {
    return this.#sandboxes.snapshot(this.id, options);
  }

  /** See `Sandboxes.fork`. */
  fork(count = 1, options: CreateOptions = {}): Promise<Sandbox[]> {
    return this.#sandboxes.fork(this.id, count, options);
  }

  /** See `Sandboxes.rollback`. */
  async rollback(snapshot: string, options: CallOptions = {}): Promise<this> {
    this.#info = (await this.#sandboxes.rollback(this.id, snapshot, options)).info;
    return this;
  }

  destroy(options: CallOptions = {}): Promise<void> {
    return this.#sandboxes.destroy(this.id, options);
  }

  /** See `Sandboxes.egress`. */
  egress(options: CallOptions = {}): Promise<EgressReport> {
    return this.#sandboxes.egress(this.id, options);
  }

  /** See `Sandboxes.setEgress`. */
  setEgress(request: EgressRequest, options: SetEgressOptions = {}): Promise<EgressReport> {
    return this.#sandboxes.setEgress(this.id, request, options);
  }

  /** See `Sandboxes.events`. */
  events(page: PageOptions = {}, options: CallOptions = {}): Promise<Page<VmEvent>> {
    return this.#sandboxes.events(this.id, page, options);
  }

  /** See `Sandboxes.metrics`. */
  metrics(query: VmMetricsQuery = {}, options: CallOptions = {}): Promise<VmMetrics> {
    return this.#sandboxes.metrics(this.id, query, options);
  }

  /** See `Sandboxes.ports`. */
  ports(options: CallOptions = {}): Promise<PortList> {
    return this.#sandboxes.ports(this.id, options);
  }

  /** See `Sandboxes.setPortPublic`. */
  setPortPublic(port: number, isPublic: boolean, options: CallOptions = {}): Promise<PortAccess> {
    return this.#sandboxes.setPortPublic(this.id, port, isPublic, options);
  }

  /** See `Sandboxes.signPortUrl`. */
  signPortUrl(port: number, options: SignUrlOptions = {}): Promise<SignedUrl> {
    return this.#sandboxes.signPortUrl(this.id, port, options);
  }

  /** See `Sandboxes.execute`. */
  execute(command: Command, options: ExecuteOptions = {}): Promise<ExecuteResponse> {
    return this.#sandboxes.execute(this.id, command, options);
  }

  /** See `Sandboxes.executeStream`. */
  executeStream(command: Command, options: ExecuteOptions = {}): AsyncGenerator<ExecuteEvent, void> {
    return this.#sandboxes.executeStream(this.id, command, options);
  }

  /** See `Sandboxes.startExecution`. */
  startExecution(command: Command, options: ExecutionOptions = {}): Promise<Execution> {
    return this.#sandboxes.startExecution(this.id, command, options);
  }

  /** See `Sandboxes.listExecutions`. */
  listExecutions(page: PageOptions = {}, options: CallOptions = {}): Promise<Page<Execution>> {
    return this.#sandboxes.listExecutions(this.id, page, options);
  }

  /** See `Sandboxes.followExecution`. */
  followExecution(execution: string, options: FollowOptions = {}): AsyncGenerator<FollowEvent, void> {
    return this.#sandboxes.followExecution(this.id, execution, options);
  }

  /** See `Sandboxes.getExecution`. */
  getExecution(execution: string, options: CallOptions = {}): Promise<Execution> {
    return this.#sandboxes.getExecution(this.id, execution, options);
  }

  /** See `Sandboxes.sendInput`. */
  sendInput(
    execution: string,
    input: string | Uint8Array<ArrayBuffer>,
    options: CallOptions & { readonly end?: boolean | undefined } = {},
  ): Promise<void> {
    return this.#sandboxes.sendInput(this.id, execution, input, options);
  }

  /** See `Sandboxes.killExecution`. */
  killExecution(
    execution: string,
    signalName: ExecutionSignal = "TERM",
    options: CallOptions = {},
  ): Promise<Execution> {
    return this.#sandboxes.killExecution(this.id, execution, signalName, options);
  }

  /** See `Sandboxes.shell`. */
  shell(options: ShellOptions = {}): Promise<Shell> {
    return this.#sandboxes.shell(this.id, options);
  }

  /** See `Sandboxes.forward`. */
  forward(port: number, options: ForwardOptions = {}): Promise<Forward> {
    return this.#sandboxes.forward(this.id, port, options);
  }

  /** See `Sandboxes.upload`. */
  upload(path: string, content: UploadContent, options: UploadOptions = {}): Promise<FileWritten> {
    return this.#sandboxes.upload(this.id, path, content, options);
  }

  /** See `Sandboxes.download`. */
  download(path: string, options: DownloadOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    return this.#sandboxes.download(this.id, path, options);
  }

  /** See `Sandboxes.downloadStream`. */
  downloadStream(path: string, options: CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return this.#sandboxes.downloadStream(this.id, path, options);
  }

  /** See `Sandboxes.listDirectory`. */
  listDirectory(path: string, options: CallOptions = {}): Promise<DirectoryListing> {
    return this.#sandboxes.listDirectory(this.id, path, options);
  }

  /** Its file system: see `Sandboxes.files`. */
  get files(): FileSystem {
    return this.#sandboxes.files(this.id);
  }

  toJSON(): SandboxInfo {
    return this.#info;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.destroy();
  }
}

type Inspect = (value: unknown, options: unknown) => string;

/** Without `env`, which may hold secrets. */
function inspected(this: Sandbox, _depth: number, options: unknown, inspect: Inspect): string {
  const { id, name, status, template, size, expires_at, reason } = this.info;
  const said = { id, name, status, template, size, expires_at, reason };
  const known = Object.entries(said).filter(([, value]) => value !== null);
  return `Sandbox ${inspect(Object.fromEntries(known), options)}`;
}
