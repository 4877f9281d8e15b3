// What reaches into a microVM: the same for sandboxes and for machines.

import type { EgressReport, EgressRequest } from "@skerry/contract/vms/egress";
import type { DirectoryListing, FileWritten } from "@skerry/contract/vms/files";
import type { VmMetrics, VmMetricsQuery } from "@skerry/contract/vms/metrics";
import type { VmEvent } from "@skerry/contract/vms/events";
import type { PortAccess, PortList } from "@skerry/contract/vms/ports";
import type { SignedUrl } from "@skerry/contract/vms/signed-urls";
import type { ExecuteResponse } from "@skerry/contract/vms/execute";
import type { Command } from "./executions/command-line.ts";
import type { ExecuteEvent } from "./executions/execute-events.ts";
import { collectCommand, streamCommand, type ExecuteOptions } from "./executions/execute.ts";
import {
  downloadAsStream,
  downloadBytes,
  uploadFile,
  type DownloadOptions,
  type UploadContent,
  type UploadOptions,
} from "./files/files.ts";
import { FileSystem } from "./files/file-system.ts";
import type { Execution } from "@skerry/contract/vms/execution";
import type { ExecutionSignal } from "@skerry/contract/vms/execution-signals";
import {
  Executions,
  type FollowEvent,
  type FollowOptions,
  type ExecutionOptions,
} from "./executions/executions.ts";
import { openForward, type Forward, type ForwardOptions } from "./forward/forward.ts";
import type { Snapshot } from "@skerry/contract/snapshots/snapshot";
import { keyHeader, type CallOptions, type CreateOptions, type HttpClient } from "../http/http.ts";
import { pageQuery, type Page, type PageOptions } from "../http/pages.ts";
import { openShell, type Shell, type ShellOptions } from "./shell.ts";
import { vmPath, type VmCollection } from "../http/paths.ts";

export interface SignUrlOptions extends CallOptions {
  /** A duration such as `10m`. */
  readonly expiresIn?: string | undefined;
}

export interface SetEgressOptions extends CallOptions {
  /** Only where the rules still have this `version`. */
  readonly ifVersion?: number | undefined;
}

export interface SnapshotOptions extends CreateOptions {
  /** Unique among the snapshots of the organization. */
  readonly name?: string | undefined;
}

/** A sandbox that is paused is resumed first. */
const SNAPSHOT_WITHIN_MS = 240_000;

export class VmCalls {
  protected readonly http: HttpClient;
  readonly #collection: VmCollection;

  constructor(http: HttpClient, collection: VmCollection) {
    this.http = http;
    this.#collection = collection;
  }

  protected at(id: string): string {
    return vmPath(this.#collection, id);
  }

  /** What it may reach, how much it sent and received, and the last destinations that were denied, newest first. */
  async egress(id: string, options: CallOptions = {}): Promise<EgressReport> {
    return this.http.json<EgressReport>({ method: "GET", path: `${this.at(id)}/egress` }, options);
  }

  /**
   * Replaces the egress rules of one that runs as a whole. When it returns they are in force, and connections that they forbid
   * are cut. Code `host_unavailable`: they are stored, and take effect when its host answers again. With `ifVersion`, the `version` of the rules
   * that the change was made to, nothing of another writer is lost: code `version_mismatch` where they have been changed since.
   */
  async setEgress(
    id: string,
    request: EgressRequest,
    { ifVersion, ...options }: SetEgressOptions = {},
  ): Promise<EgressReport> {
    const headers = ifVersion === undefined ? {} : { "if-match": `"${ifVersion}"` };
    const call = { method: "PUT", path: `${this.at(id)}/egress`, json: request, headers } as const;
    return this.http.json<EgressReport>(call, options);
  }

  /** Takes a snapshot of its memory and its disk; it goes on. `create({ snapshot })` begins there, and `rollback` goes back to it. */
  snapshot(id: string, options: SnapshotOptions = {}): Promise<Snapshot> {
    const { name, ...own } = options;
    const call = {
      method: "POST",
      path: `${this.at(id)}/snapshots`,
      json: name === undefined ? {} : { name },
      creates: true,
      headers: keyHeader(own),
      answerWithinMs: SNAPSHOT_WITHIN_MS,
    } as const;
    return this.http.json<Snapshot>(call, own);
  }

  /** What has become of it, and why, newest first; one page. */
  async events(id: string, page: PageOptions = {}, options: CallOptions = {}): Promise<Page<VmEvent>> {
    const call = { method: "GET", path: `${this.at(id)}/events`, query: pageQuery(page) } as const;
    return this.http.json<Page<VmEvent>>(call, options);
  }

  /** CPU, memory, disk and network over time, oldest first; of the last 24 h at most. `since`: ISO 8601; `step`: from `1m`, by default `5m`. */
  async metrics(id: string, query: VmMetricsQuery = {}, options: CallOptions = {}): Promise<VmMetrics> {
    return this.http.json<VmMetrics>({ method: "GET", path: `${this.at(id)}/metrics`, query }, options);
  }

  /** The TCP ports that something listens on, and those that are public; by number. */
  async ports(id: string, options: CallOptions = {}): Promise<PortList> {
    return this.http.json<PortList>({ method: "GET", path: `${this.at(id)}/ports` }, options);
  }

  /** Opens a port to everybody who knows the id (`true`), or has it need a token or a signed URL again. */
  async setPortPublic(
    id: string,
    port: number,
    isPublic: boolean,
    options: CallOptions = {},
  ): Promise<PortAccess> {
    return this.http.json<PortAccess>(
      { method: "PATCH", path: `${this.at(id)}/ports/${port}`, json: { public: isPublic } },
      options,
    );
  }

  /** A URL by which everybody who has it reaches the port without a token; `expiresIn` is at most `168h`, by default `1h`. */
  async signPortUrl(
    id: string,
    port: number,
    { expiresIn, ...options }: SignUrlOptions = {},
  ): Promise<SignedUrl> {
    const json = { port, ...(expiresIn === undefined ? {} : { expires_in: expiresIn }) };
    return this.http.json<SignedUrl>({ method: "POST", path: `${this.at(id)}/urls`, json }, options);
  }

  /**
   * Has a port of this machine lead to `port`, for any number of TCP connections at once. Only in Node. It lasts as long as the VM, and does
   * not extend it; one that is paused is resumed by the next connection. Throws `SkerryInputError` with the code `cannot_listen` where
   * something else listens there.
   */
  async forward(id: string, port: number, options: ForwardOptions = {}): Promise<Forward> {
    return openForward(this.http, this.at(id), port, options);
  }

  /**
   * Runs a shell command, or of a list a program with these arguments, and returns its whole output:
   * `exit_code`, `stdout`, `stderr`, `duration_ms`, `timed_out` and more. A command that fails is an answer,
   * not an error. Bytes that are not UTF-8 become U+FFFD, and what goes beyond 10 MiB of either output is
   * dropped (`truncated`); `executeStream` has neither limit.
   */
  async execute(id: string, command: Command, options: ExecuteOptions = {}): Promise<ExecuteResponse> {
    return collectCommand(this.http, this.at(id), command, options);
  }

  /**
   * Runs a shell command and gives its output as it comes, as exact bytes, then one `exit`. The command starts with the
   * first read; leaving the loop or aborting the signal kills it. It may take as long as its VM lives.
   */
  async *executeStream(
    id: string,
    command: Command,
    options: ExecuteOptions = {},
  ): AsyncGenerator<ExecuteEvent, void> {
    yield* streamCommand(this.http, this.at(id), command, options);
  }

  /**
   * Starts a shell command that runs on by itself: it outlives this client, the server and its host's agent, and ends with its VM at the latest.
   * `stdin_open: true` lets `sendInput` reach it. Safe to repeat, like `create`.
   */
  async startExecution(id: string, command: Command, options: ExecutionOptions = {}): Promise<Execution> {
    return this.#executions(id).start(command, options);
  }

  /** Those that run and the last ones that have exited, newest first. */
  async listExecutions(
    id: string,
    page: PageOptions = {},
    options: CallOptions = {},
  ): Promise<Page<Execution>> {
    return this.#executions(id).list(page, options);
  }

  async getExecution(id: string, execution: string, options: CallOptions = {}): Promise<Execution> {
    return this.#executions(id).get(execution, options);
  }

  /** Its output from the first byte that is kept, or from `after`, then one `exit`. A connection that breaks is made again, and no byte comes twice. */
  async *followExecution(
    id: string,
    execution: string,
    options: FollowOptions = {},
  ): AsyncGenerator<FollowEvent, void> {
    yield* this.#executions(id).follow(execution, options);
  }

  /** Sends a signal; default: `TERM`. Does nothing to one that has exited. */
  async killExecution(
    id: string,
    execution: string,
    signalName: ExecutionSignal = "TERM",
    options: CallOptions = {},
  ): Promise<Execution> {
    return this.#executions(id).kill(execution, signalName, options);
  }

  /** Writes to its standard input or its terminal, and with `end` ends it. Resolves when all was taken, which is when the command reads. */
  async sendInput(
    id: string,
    execution: string,
    input: string | Uint8Array<ArrayBuffer>,
    options: CallOptions & { readonly end?: boolean | undefined } = {},
  ): Promise<void> {
    return this.#executions(id).send(execution, input, options);
  }

  /**
   * A terminal: iterate over it for its output, and `write` what is typed. Its command runs in the VM and not in the connection, which is made
   * again where it breaks. Needs a WebSocket: Node, for whose version 20 this client brings one, or a browser.
   */
  async shell(id: string, options: ShellOptions = {}): Promise<Shell> {
    return openShell(this.http, this.at(id), this.#executions(id), options);
  }

  #executions(id: string): Executions {
    return new Executions(this.http, this.at(id));
  }

  /** Writes a file of at most 100 MB; `path` is absolute in the VM. Missing directories are created; a broken upload leaves nothing behind. */
  async upload(
    id: string,
    path: string,
    content: UploadContent,
    options: UploadOptions = {},
  ): Promise<FileWritten> {
    return uploadFile(this.http, { vm: this.at(id), path }, content, options);
  }

  /** A whole file, held in memory: of more than `maxBytes` (default: 256 MiB) it is a `SkerryTooLargeError`. `downloadStream` has no limit. */
  async download(id: string, path: string, options: DownloadOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    return downloadBytes(this.http, { vm: this.at(id), path }, options);
  }

  /**
   * A file as it comes, however long: what is in a VM decides about its length, so the caller that stores it bounds it. One that breaks off
   * is an error. Canceling the stream closes the connection.
   */
  async downloadStream(
    id: string,
    path: string,
    options: CallOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    return downloadAsStream(this.http, { vm: this.at(id), path }, options);
  }

  /** `entries` of a directory, each with `name`, `size` in bytes, `type` and `modified`; at most 10,000, then `truncated`. */
  async listDirectory(id: string, path: string, options: CallOptions = {}): Promise<DirectoryListing> {
    return this.files(id).list(path, options);
  }

  /** Its file system: `stat`, `list`, `makeDirectory`, `move`, `setMode`, `remove`, `pack`, `unpack`, `watch` and `signUrl`. */
  files(id: string): FileSystem {
    return new FileSystem(this.http, this.at(id));
  }
}
