// What reaches into a microVM: the same for sandboxes and for machines.

import type { EgressReport, EgressRequest } from "@skerry/contract/vms/egress";
import type { DirectoryListing, FileWritten } from "@skerry/contract/vms/files";
import type { ExecuteResponse } from "@skerry/contract/vms/execute";
import { collectCommand, streamCommand, type ExecuteEvent, type ExecuteOptions } from "./execute.ts";
import {
  downloadAsStream,
  downloadBytes,
  listFiles,
  uploadFile,
  type DownloadOptions,
  type UploadContent,
  type UploadOptions,
} from "./files.ts";
import type { CallOptions, HttpClient } from "./http.ts";
import { vmPath, type VmCollection } from "./paths.ts";

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
   * are cut. Code `host_unavailable`: they are stored, and take effect when its host answers again.
   */
  async setEgress(id: string, request: EgressRequest, options: CallOptions = {}): Promise<EgressReport> {
    return this.http.json<EgressReport>(
      { method: "PUT", path: `${this.at(id)}/egress`, json: request },
      options,
    );
  }

  /**
   * Runs a shell command and returns its whole output: `exit_code`, `stdout`, `stderr`, `duration_ms`, `timed_out`
   * and more. A command that fails is an answer, not an error. Bytes that are not UTF-8 become U+FFFD, and what goes
   * beyond 10 MiB of either output is dropped (`truncated`); `executeStream` has neither limit.
   */
  async execute(id: string, command: string, options: ExecuteOptions = {}): Promise<ExecuteResponse> {
    return collectCommand(this.http, this.at(id), command, options);
  }

  /**
   * Runs a shell command and gives its output as it comes, as exact bytes, then one `exit`. The command starts with the
   * first read; leaving the loop or aborting the signal kills it.
   */
  async *executeStream(
    id: string,
    command: string,
    options: ExecuteOptions = {},
  ): AsyncGenerator<ExecuteEvent, void> {
    yield* streamCommand(this.http, this.at(id), command, options);
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
    return listFiles(this.http, { vm: this.at(id), path }, options);
  }
}
