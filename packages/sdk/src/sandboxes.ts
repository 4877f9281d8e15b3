// Sandboxes by id. `Sandbox` (the handle) is the same with the id filled in.

import type { EgressReport, EgressRequest } from "@skerry/contract/egress";
import type {
  DirectoryListing,
  ExecuteResponse,
  FileWritten,
  SandboxCreateRequest,
  Sandbox as SandboxInfo,
  SandboxListQuery,
} from "@skerry/contract/sandboxes";
import { collectCommand, streamCommand, type ExecuteEvent, type ExecuteOptions } from "./execute.ts";
import {
  downloadAsStream,
  downloadBytes,
  listFiles,
  uploadFile,
  type UploadContent,
  type UploadOptions,
} from "./files.ts";
import type { CallOptions, HttpClient } from "./http.ts";
import { everyItem, pageQuery, type Page, type PageOptions } from "./pages.ts";
import { sandboxPath } from "./paths.ts";
import { Sandbox } from "./sandbox.ts";

export interface SandboxFilter {
  readonly status?: NonNullable<SandboxListQuery["status"]> | undefined;
  /** Name of a template. */
  readonly template?: string | undefined;
  /** Labels that must all be there with these values. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** A first use of a template freezes it, which takes as long as a cold boot. The server itself gives up before this. */
const CREATE_WITHIN_MS = 240_000;

/**
 * Every method throws `SkerryApiError` where the server refuses, `SkerryConnectionError` where it cannot be reached
 * and `SkerryInputError` where the arguments cannot be sent; each takes a `signal`.
 */
export class Sandboxes {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /**
   * Creates a sandbox and waits until it is usable. `template` is required; `timeout` is a duration such as `10m`
   * (default `5m`, at most `24h`) after which the sandbox is destroyed; `size` is a name from `sizes.list()`; `egress` says what
   * the sandbox may reach (default: everything but private networks).
   * Safe to repeat: after a broken connection it is sent again under the same `Idempotency-Key`, and creates one sandbox.
   */
  async create(request: SandboxCreateRequest, options: CallOptions = {}): Promise<Sandbox> {
    const info = await this.#http.json<SandboxInfo>(
      {
        method: "POST",
        path: "/v1/sandboxes",
        json: request,
        creates: true,
        answerWithinMs: CREATE_WITHIN_MS,
      },
      options,
    );
    return new Sandbox(this, info);
  }

  /** Code `sandbox_not_found` where there is none, or where it belongs to another organization. */
  async get(id: string, options: CallOptions = {}): Promise<Sandbox> {
    const info = await this.#http.json<SandboxInfo>({ method: "GET", path: sandboxPath(id) }, options);
    return new Sandbox(this, info);
  }

  /** Every sandbox that passes the filter, newest first, read page by page as you go. */
  list(filter: SandboxFilter = {}, options: CallOptions = {}): AsyncGenerator<Sandbox, void> {
    return everyItem((cursor) => this.page({ ...filter, cursor }, options));
  }

  /** One page of the list. */
  async page(query: SandboxFilter & PageOptions = {}, options: CallOptions = {}): Promise<Page<Sandbox>> {
    const labels = Object.entries(query.metadata ?? {}).map(([key, value]) => [`metadata.${key}`, value]);
    const page = await this.#http.json<Page<SandboxInfo>>(
      {
        method: "GET",
        path: "/v1/sandboxes",
        query: {
          ...pageQuery(query),
          status: query.status,
          template: query.template,
          ...Object.fromEntries(labels),
        },
      },
      options,
    );
    return { items: page.items.map((info) => new Sandbox(this, info)), next_cursor: page.next_cursor };
  }

  /** Destroys a sandbox. Works from every status, and more than once. */
  async destroy(id: string, options: CallOptions = {}): Promise<void> {
    await this.#http.done({ method: "DELETE", path: sandboxPath(id) }, options);
  }

  /**
   * Moves the sandbox's expiry to `timeout` from now; never to earlier than it is. More than 24 h counts as 24 h.
   * Without `timeout` the sandbox's own is used.
   */
  async keepalive(id: string, timeout?: string, options: CallOptions = {}): Promise<Sandbox> {
    const info = await this.#http.json<SandboxInfo>(
      {
        method: "POST",
        path: `${sandboxPath(id)}/keepalive`,
        json: timeout === undefined ? {} : { timeout },
      },
      options,
    );
    return new Sandbox(this, info);
  }

  /** What the sandbox may reach, how much it sent and received, and the last destinations that were denied, newest first. */
  egress(id: string, options: CallOptions = {}): Promise<EgressReport> {
    return this.#http.json<EgressReport>({ method: "GET", path: `${sandboxPath(id)}/egress` }, options);
  }

  /**
   * Replaces the egress rules of a running sandbox as a whole. When it returns they are in force, and connections that they forbid
   * are cut. Code `host_unavailable`: they are stored, and take effect when the sandbox's host answers again.
   */
  setEgress(id: string, request: EgressRequest, options: CallOptions = {}): Promise<EgressReport> {
    return this.#http.json<EgressReport>(
      { method: "PUT", path: `${sandboxPath(id)}/egress`, json: request },
      options,
    );
  }

  /**
   * Runs a shell command and returns its whole output: `exit_code`, `stdout`, `stderr`, `duration_ms`, `timed_out`
   * and more. A command that fails is an answer, not an error. Bytes that are not UTF-8 become U+FFFD, and what goes
   * beyond 10 MiB of either output is dropped (`truncated`); `executeStream` has neither limit.
   */
  execute(id: string, command: string, options: ExecuteOptions = {}): Promise<ExecuteResponse> {
    return collectCommand(this.#http, id, command, options);
  }

  /**
   * Runs a shell command and gives its output as it comes, as exact bytes, then one `exit`. The command starts with the
   * first read; leaving the loop or aborting the signal kills it.
   */
  executeStream(
    id: string,
    command: string,
    options: ExecuteOptions = {},
  ): AsyncGenerator<ExecuteEvent, void> {
    return streamCommand(this.#http, id, command, options);
  }

  /** Writes a file of at most 100 MB; `path` is absolute in the VM. Missing directories are created; a broken upload leaves nothing behind. */
  upload(
    id: string,
    path: string,
    content: UploadContent,
    options: UploadOptions = {},
  ): Promise<FileWritten> {
    return uploadFile(this.#http, { id, path }, content, options);
  }

  /** A whole file, held in memory. */
  download(id: string, path: string, options: CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    return downloadBytes(this.#http, { id, path }, options);
  }

  /** A file as it comes. Canceling the stream closes the connection. */
  downloadStream(id: string, path: string, options: CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return downloadAsStream(this.#http, { id, path }, options);
  }

  /** `entries` of a directory, each with `name`, `size` in bytes, `type` and `modified`; at most 10,000, then `truncated`. */
  listDirectory(id: string, path: string, options: CallOptions = {}): Promise<DirectoryListing> {
    return listFiles(this.#http, { id, path }, options);
  }
}
