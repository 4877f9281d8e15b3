// The file system of a microVM beside the content of single files: what is there, and what becomes of it.

import type { DirectoryListing, FileInfo } from "@skerry/contract/vms/files";
import type { SignedUrl } from "@skerry/contract/vms/signed-urls";
import { bytesToSend, checkMode, streamOf, type UploadContent } from "./files.ts";
import type { CallOptions, HttpClient } from "../../http/http.ts";
import type { FileEvent } from "@skerry/contract/vms/watches";
import { watchAt, type WatchOptions } from "./watch.ts";
import { checkAbsolute, directoryPath, pathUnder } from "../../http/paths.ts";

export interface StatOptions extends CallOptions {
  /** Of a symbolic link, tell what it leads to. Default: the link itself. */
  readonly follow?: boolean | undefined;
}

export interface ListFilesOptions extends CallOptions {
  /** How many levels below the directory, 1 to 64. Default: 1. */
  readonly depth?: number | undefined;
  /** Entries at most, 1 to 10,000, which is the default; `truncated` says that there are more. */
  readonly limit?: number | undefined;
}

export interface MakeDirectoryOptions extends CallOptions {
  /** Permissions in octal, for example `0700`. Default: `0755`. */
  readonly mode?: string | undefined;
}

export interface RemoveOptions extends CallOptions {
  /** A directory with all that is in it. Default: one that is not empty is refused (`directory_not_empty`). */
  readonly recursive?: boolean | undefined;
}

export interface SignFileUrlOptions extends CallOptions {
  /** Whether the URL reads the file or writes it. Default: `GET`. */
  readonly method?: "GET" | "PUT" | undefined;
  /** Permissions of a file that is written, octal. Default: those of the file that is there, or `0644`. */
  readonly mode?: string | undefined;
  /** A duration such as `10m`. */
  readonly expiresIn?: string | undefined;
}

/** A tree is removed, or moved to another file system, within this or not at all. */
const TREE_WITHIN_MS = 180_000;

/** The file system of one sandbox or machine. Paths are absolute in it. */
export class FileSystem {
  readonly #http: HttpClient;
  readonly #vm: string;

  constructor(http: HttpClient, vm: string) {
    this.#http = http;
    this.#vm = vm;
  }

  /** `type`, `size` in bytes, `mode` in octal, `owner`, `group`, `modified` and of a link its `target`. Code `file_not_found` where there is nothing. */
  async stat(path: string, { follow, signal }: StatOptions = {}): Promise<FileInfo> {
    const query = { follow: follow?.toString() };
    return this.#http.json<FileInfo>({ method: "GET", path: this.#at("stat", path), query }, { signal });
  }

  /** The `entries` of a directory. With a `depth` over 1 also of those below it, each with its `path` from there; links are not followed. */
  async list(path: string, { depth, limit, signal }: ListFilesOptions = {}): Promise<DirectoryListing> {
    const query = { list: "true", depth: depth?.toString(), limit: limit?.toString() };
    const call = { method: "GET", path: directoryPath(this.#vm, path), query } as const;
    return this.#http.json<DirectoryListing>(call, { signal });
  }

  /** Makes a directory and the missing ones above it. One that is there stays as it is. */
  async makeDirectory(path: string, { mode, signal }: MakeDirectoryOptions = {}): Promise<FileInfo> {
    checkMode(mode);
    const call = { method: "PUT", path: this.#at("directories", path), query: { mode } } as const;
    return this.#http.json<FileInfo>(call, { signal });
  }

  /** Moves a file or a directory, in the place of a file or an empty directory that is there; missing directories above `to` are made. */
  async move(path: string, to: string, options: CallOptions = {}): Promise<FileInfo> {
    checkAbsolute(to);
    return this.#change(path, { path: to }, options);
  }

  /** Sets permissions, in octal such as `0755`; of a link, those of what it leads to. */
  async setMode(path: string, mode: string, options: CallOptions = {}): Promise<FileInfo> {
    checkMode(mode);
    return this.#change(path, { mode }, options);
  }

  /** Removes a file, a link and not what it leads to, or an empty directory. */
  async remove(path: string, { recursive, signal }: RemoveOptions = {}): Promise<void> {
    const query = { recursive: recursive?.toString() };
    const call = { method: "DELETE", path: this.#at("files", path), query } as const;
    await this.#http.done({ ...call, answerWithinMs: TREE_WITHIN_MS }, { signal });
  }

  /** What is in a directory, as a tar archive that comes as it is written. Needs `tar` in the VM. Who unpacks it should not trust its names. */
  async pack(path: string, options: CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return streamOf(this.#http, this.#at("archives", path), options);
  }

  /** Unpacks a tar archive, not compressed and of at most 10 GB, into a directory, which is made where it is missing. Needs `tar` in the VM. */
  async unpack(path: string, archive: UploadContent, { signal }: CallOptions = {}): Promise<void> {
    const call = { method: "PUT", path: this.#at("archives", path), ...bytesToSend(archive) } as const;
    await this.#http.done(call, { signal });
  }

  /**
   * What changes in a directory, as events: `create`, `write`, `remove`, `rename`, `chmod`, each with its `path` from there. The first one is
   * `start`: what changes after it is told. `overflow`: events were lost, so look again. Ends when the directory is gone; leaving the loop ends it too.
   */
  async *watch(path: string, options: WatchOptions = {}): AsyncGenerator<FileEvent, void> {
    yield* watchAt(this.#http, this.#at("watch", path), options);
  }

  /**
   * A URL by which everybody who has it reads the file, or with the method `PUT` writes it with `mode`, without a token; `expiresIn` is at most `168h`, by
   * default `1h`.
   */
  async signUrl(
    path: string,
    { method, mode, expiresIn, signal }: SignFileUrlOptions = {},
  ): Promise<SignedUrl> {
    checkAbsolute(path);
    checkMode(mode);
    const json = {
      path,
      ...(method === undefined ? {} : { method }),
      ...(mode === undefined ? {} : { mode }),
      ...(expiresIn === undefined ? {} : { expires_in: expiresIn }),
    };
    return this.#http.json<SignedUrl>({ method: "POST", path: `${this.#vm}/urls`, json }, { signal });
  }

  #change(path: string, json: object, options: CallOptions): Promise<FileInfo> {
    const call = { method: "PATCH", path: this.#at("files", path), json } as const;
    return this.#http.json<FileInfo>({ ...call, answerWithinMs: TREE_WITHIN_MS }, options);
  }

  #at(part: string, path: string): string {
    return pathUnder(`${this.#vm}/${part}`, path);
  }
}
