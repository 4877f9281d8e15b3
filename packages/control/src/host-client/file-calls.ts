// The calls of the host API about the files of a guest.

import type { Readable } from "node:stream";
import { Compile } from "typebox/compile";
import type { FileAttributes } from "@skerry/contract/vms/file-attributes";
import { OUTPUT_PING_MS } from "@skerry/contract/host-api/executions";
import type { ChangeEntry } from "@skerry/contract/host-api/files";
import { DirectoryListing, FileInfo, FileWritten } from "@skerry/contract/vms/files";
import type { FileEvent } from "@skerry/contract/vms/watches";
import { Deadline } from "./deadline.ts";
import { fileEventsOf } from "./file-events.ts";
import type { VmRef } from "./vm-ref.ts";
import { readJson, type HostTransport } from "./host-transport.ts";

export interface FileBody {
  /** Undefined where the host does not know it before the end. */
  readonly sizeBytes: number | undefined;
  readonly content: Readable;
}

export interface WrittenFile {
  readonly path: string;
  /** Undefined: that of the file which is replaced, or 0644. */
  readonly mode: number | undefined;
  /** Undefined where there are none, which a host of an earlier version understands. */
  readonly attributes?: FileAttributes | undefined;
  readonly sizeBytes: number | undefined;
  readonly content: AsyncIterable<Uint8Array>;
}

export interface ListOptions {
  /** Undefined where the caller did not say, which a host of an earlier version understands. */
  readonly depth: number | undefined;
  readonly limit: number | undefined;
}

/** A transfer in which nothing moves for this long is dead. */
const TRANSFER_IDLE_MS = 60_000;
/** The host gives a guest 60 s to move something. */
const ARCHIVE_IDLE_MS = 95_000;
/** A host that sends no ping for so long has gone. */
const SILENCE_MS = 4 * OUTPUT_PING_MS;
const CALL_DEADLINE_MS = 35_000;
/** A tree is removed, or moved to another file system, in two minutes or not at all. */
const TREE_DEADLINE_MS = 150_000;

const shapes = {
  written: Compile(FileWritten),
  listing: Compile(DirectoryListing),
  info: Compile(FileInfo),
};

export class FileCalls {
  readonly #transport: HostTransport;
  readonly #lasting: HostTransport;

  /** `lasting`: for what may take long. */
  constructor(transport: HostTransport, lasting: HostTransport) {
    this.#transport = transport;
    this.#lasting = lasting;
  }

  /** `content` is read as fast as the guest takes it. Abort `gone`, or let `content` throw, and the guest drops the file. */
  async write(vm: VmRef, file: WrittenFile, gone: AbortSignal): Promise<FileWritten> {
    const length = file.sizeBytes === undefined ? {} : { "content-length": String(file.sizeBytes) };
    const call = {
      method: "PUT",
      path: pathOf(vm, "file"),
      query: {
        ...{ execution_id: vm.execution_id, path: file.path },
        ...(file.mode === undefined ? {} : { mode: file.mode }),
        ...(file.attributes === undefined ? {} : { attributes: JSON.stringify(file.attributes) }),
      },
      headers: { "content-type": "application/octet-stream", ...length },
      content: file.content,
    } as const;
    return readJson(await this.#transport.open(call, gone), shapes.written);
  }

  async read(vm: VmRef, path: string, gone: AbortSignal): Promise<FileBody> {
    const call = {
      method: "GET",
      path: pathOf(vm, "file"),
      query: { execution_id: vm.execution_id, path },
      idleMs: TRANSFER_IDLE_MS,
    } as const;
    const answer = await this.#transport.open(call, gone);
    const length = Number(answer.headers["content-length"]);
    return { sizeBytes: Number.isSafeInteger(length) ? length : undefined, content: answer.body };
  }

  list(vm: VmRef, path: string, { depth, limit }: ListOptions, gone: AbortSignal): Promise<DirectoryListing> {
    const call = {
      method: "GET",
      path: pathOf(vm, "directory"),
      query: {
        execution_id: vm.execution_id,
        path,
        ...(depth === undefined ? {} : { depth }),
        ...(limit === undefined ? {} : { limit }),
      },
    } as const;
    return this.#transport.json(call, shapes.listing, new Deadline(CALL_DEADLINE_MS, gone));
  }

  /** `follow`: of a link, what it leads to. */
  stat(vm: VmRef, path: string, follow: boolean, gone: AbortSignal): Promise<FileInfo> {
    const query = { execution_id: vm.execution_id, path, follow: String(follow) };
    const call = { method: "GET", path: pathOf(vm, "entry"), query } as const;
    return this.#transport.json(call, shapes.info, new Deadline(CALL_DEADLINE_MS, gone));
  }

  /** With the missing ones above it; the same call twice is one directory. */
  makeDirectory(vm: VmRef, path: string, mode: number, gone: AbortSignal): Promise<FileInfo> {
    const query = { execution_id: vm.execution_id, path, mode };
    const call = { method: "PUT", path: pathOf(vm, "directory"), query } as const;
    return this.#transport.json(call, shapes.info, new Deadline(CALL_DEADLINE_MS, gone));
  }

  /** Moves it, or sets its permissions. Resolves with what it is then. */
  change(vm: VmRef, change: Omit<ChangeEntry, "execution_id">, gone: AbortSignal): Promise<FileInfo> {
    const json: ChangeEntry = { execution_id: vm.execution_id, ...change };
    const call = { method: "PATCH", path: pathOf(vm, "entry"), json } as const;
    return this.#transport.json(call, shapes.info, new Deadline(TREE_DEADLINE_MS, gone));
  }

  /** What is in a directory, as a tar archive. One that fails in the middle is cut off. */
  async pack(vm: VmRef, path: string, gone: AbortSignal): Promise<Readable> {
    const query = { execution_id: vm.execution_id, path };
    const call = { method: "GET", path: pathOf(vm, "archive"), query, idleMs: ARCHIVE_IDLE_MS } as const;
    return (await this.#lasting.open(call, gone)).body;
  }

  /** `content` is read as fast as the guest unpacks it. Abort `gone`, or let `content` throw, and the rest is not. */
  async unpack(
    vm: VmRef,
    { path, content }: { readonly path: string; readonly content: AsyncIterable<Uint8Array> },
    gone: AbortSignal,
  ): Promise<void> {
    const call = {
      method: "PUT",
      path: pathOf(vm, "archive"),
      query: { execution_id: vm.execution_id, path },
      headers: { "content-type": "application/octet-stream" },
      content,
    } as const;
    const answer = await this.#lasting.open(call, gone);
    await answer.body.dump();
  }

  /** What changes in a directory until `gone` aborts or it is removed. Resolves when it is watched. */
  async watch(
    vm: VmRef,
    { path, recursive }: { readonly path: string; readonly recursive: boolean },
    gone: AbortSignal,
  ): Promise<AsyncGenerator<FileEvent, void>> {
    const query = { execution_id: vm.execution_id, path, recursive: String(recursive) };
    const call = { method: "GET", path: pathOf(vm, "watch"), query, idleMs: SILENCE_MS } as const;
    return fileEventsOf(await this.#lasting.open(call, gone), gone);
  }

  /** Abort `gone`, and what has not been removed then stays. */
  remove(vm: VmRef, path: string, recursive: boolean, gone: AbortSignal): Promise<void> {
    const query = { execution_id: vm.execution_id, path, recursive: String(recursive) };
    const call = { method: "DELETE", path: pathOf(vm, "entry"), query } as const;
    return this.#transport.done(call, new Deadline(TREE_DEADLINE_MS, gone));
  }
}

function pathOf(vm: VmRef, part: "file" | "directory" | "entry" | "archive" | "watch"): string {
  return `/vms/${encodeURIComponent(vm.id)}/${part}`;
}
