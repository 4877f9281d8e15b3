// A sandbox in hand: what the server last said about it, and everything that one does with it.

import type { Duration } from "@skerry/contract/durations";
import type { Sandbox as SandboxInfo, SandboxUpdateRequest } from "@skerry/contract/sandboxes/sandbox";
import type { Status, WaitOptions } from "../events/wait-for-status.ts";
import type { CallOptions, CreateOptions } from "../http/http.ts";
import { BoundVm } from "../vms/bound-calls.ts";
import type { FileSystem } from "../vms/files/file-system.ts";
import type { VmCalls } from "../vms/vm-calls.ts";

/** The calls that a sandbox makes with its own id; `Sandboxes` has them for any id. */
export interface SandboxCalls extends VmCalls {
  get(id: string, options?: CallOptions): Promise<Sandbox>;
  update(id: string, changes: SandboxUpdateRequest, options?: CallOptions): Promise<Sandbox>;
  wait(id: string, until: Status<Sandbox>, options?: WaitOptions): Promise<Sandbox>;
  keepalive(id: string, timeout?: Duration, options?: CallOptions): Promise<Sandbox>;
  pause(id: string, options?: CallOptions): Promise<Sandbox>;
  resume(id: string, options?: CallOptions): Promise<Sandbox>;
  fork(id: string, count?: number, options?: CreateOptions): Promise<Sandbox[]>;
  rollback(id: string, snapshot: string, options?: CallOptions): Promise<Sandbox>;
  destroy(id: string, options?: CallOptions): Promise<void>;
}

/**
 * Every call into a microVM that `Sandboxes` has, without the id. `await using sandbox = await
 * skerry.sandboxes.create(…)` destroys it at the end of the block.
 */
export class Sandbox extends BoundVm {
  static {
    // What Node's `console.log` shows. Not a method: no caller needs it, and its name is one of Node alone.
    Object.defineProperty(this.prototype, Symbol.for("nodejs.util.inspect.custom"), { value: inspected });
  }

  readonly #sandboxes: SandboxCalls;
  #info: SandboxInfo;

  constructor(sandboxes: SandboxCalls, info: SandboxInfo) {
    super(sandboxes, info.id);
    this.#sandboxes = sandboxes;
    this.#info = info;
  }

  /**
   * As of the last `create`, `get`, `refresh`, `wait`, `update`, `keepalive`, `pause`, `resume` or
   * `rollback`; it does not follow the server by itself.
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
  async wait(until: Status<Sandbox>, options: WaitOptions = {}): Promise<this> {
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
