// Sandboxes by id or name. `Sandbox` (the handle) is the same with the id filled in.

import type { Duration } from "@skerry/contract/durations";
import type {
  SandboxCreateRequest,
  SandboxForks,
  Sandbox as SandboxInfo,
  SandboxList,
  SandboxListQuery,
  SandboxUpdateRequest,
} from "@skerry/contract/sandboxes/sandbox";
import { orDestroyed } from "../http/abandoned-creation.ts";
import { followResource } from "../events/follow-resource.ts";
import { waitForStatus, type Status, type WaitOptions } from "../events/wait-for-status.ts";
import { keyHeader, type CallOptions, type CreateOptions, type HttpClient } from "../http/http.ts";
import {
  everyItem,
  filterQuery,
  pageQuery,
  type CountedPage,
  type CountedPageOptions,
} from "../http/pages.ts";
import { Sandbox } from "./sandbox.ts";
import { checkTemplate } from "../vms/template-needed.ts";
import { VmCalls } from "../vms/vm-calls.ts";

export interface SandboxFilter {
  readonly status?: NonNullable<SandboxListQuery["status"]> | undefined;
  /** `true`: only those that have neither failed nor been destroyed. */
  readonly alive?: boolean | undefined;
  /** Name of a template. */
  readonly template?: string | undefined;
  /** Id of the host that they are on. */
  readonly host?: string | undefined;
  /** What they belong to: `none`, a kind of resource, or one of them as `KIND:ID-OR-NAME`. */
  readonly owner?: string | undefined;
  /** What their name, or their id, begins with. */
  readonly q?: string | undefined;
  /** Only those made after this time, in ISO 8601. */
  readonly createdAfter?: string | undefined;
  /** Labels that must all be there with these values. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

export type SandboxCounts = NonNullable<SandboxList["counts"]>;

/** A first use of a template freezes it, which takes as long as a cold boot. The server itself gives up before this. */
const CREATE_WITHIN_MS = 240_000;

/**
 * Every method throws `SkerryApiError` where the server refuses, `SkerryConnectionError` where it cannot be reached
 * and `SkerryInputError` where the arguments cannot be sent; each takes a `signal`. Where a method takes an `id`, the name of a
 * living sandbox of the organization does as well; it costs the server one more look into its database.
 */
export class Sandboxes extends VmCalls {
  constructor(http: HttpClient) {
    super(http, "/v1/sandboxes");
  }

  /**
   * Creates a sandbox and waits until it is usable. `template` or `snapshot` is required; `timeout` is a duration such as `10m`
   * (default `5m`, at most `24h`) after which the sandbox is destroyed, or with the `mode` `persistent` paused; `pause_after_idle` pauses a persistent one that nothing has used for so long; with `auto_resume: false` calls into a paused one do not resume it; `size` is a name from `sizes.list()`; `egress` says what
   * the sandbox may reach (default: everything but private networks). `name` is unique among the organization's sandboxes until this one
   * is destroyed or has failed: code `name_taken` where another one has it.
   * Safe to repeat: after a broken connection it is sent again under the same `Idempotency-Key`, and creates one sandbox.
   * A `signal` that is aborted meanwhile has what was created destroyed, unless `idempotencyKey` is given.
   */
  async create(request: SandboxCreateRequest, options: CreateOptions = {}): Promise<Sandbox> {
    checkTemplate(request);
    return orDestroyed(
      options,
      async (own) => {
        const call = {
          method: "POST",
          path: "/v1/sandboxes",
          json: request,
          creates: true,
          headers: keyHeader(own),
          answerWithinMs: CREATE_WITHIN_MS,
        } as const;
        return new Sandbox(this, await this.http.json<SandboxInfo>(call, own));
      },
      (sandbox) => sandbox.destroy(),
    );
  }

  /** Code `sandbox_not_found` where there is none, or where it belongs to another organization. */
  async get(id: string, options: CallOptions = {}): Promise<Sandbox> {
    const info = await this.http.json<SandboxInfo>({ method: "GET", path: this.at(id) }, options);
    return new Sandbox(this, info);
  }

  /** Every sandbox that passes the filter, newest first, read page by page as you go. */
  list(filter: SandboxFilter = {}, options: CallOptions = {}): AsyncGenerator<Sandbox, void> {
    return everyItem((cursor) => this.page({ ...filter, cursor }, options));
  }

  /** One page of the list; with `counts` also how many there are of each status. */
  async page(
    query: SandboxFilter & CountedPageOptions = {},
    options: CallOptions = {},
  ): Promise<CountedPage<Sandbox, SandboxCounts>> {
    const page = await this.http.json<SandboxList>(
      {
        method: "GET",
        path: "/v1/sandboxes",
        query: { ...pageQuery(query), ...filterQuery(query) },
      },
      options,
    );
    return { ...page, items: page.items.map((info) => new Sandbox(this, info)) };
  }

  /** Destroys a sandbox. Works from every status, and more than once. */
  async destroy(id: string, options: CallOptions = {}): Promise<void> {
    await this.http.done({ method: "DELETE", path: this.at(id) }, options);
  }

  /**
   * Changes what is named, and leaves the rest as it is; in `metadata` null removes a label, and null for
   * `name` or `pause_after_idle` takes it away. Its time is changed by `keepalive`, its egress rules by
   * `setEgress`.
   */
  async update(id: string, changes: SandboxUpdateRequest, options: CallOptions = {}): Promise<Sandbox> {
    const call = { method: "PATCH", path: this.at(id), json: changes } as const;
    return new Sandbox(this, await this.http.json<SandboxInfo>(call, options));
  }

  /**
   * Moves the sandbox's expiry to `timeout` from now; never to earlier than it is. More than 24 h counts as 24 h.
   * Without `timeout` the sandbox's own is used.
   */
  async keepalive(id: string, timeout?: Duration, options: CallOptions = {}): Promise<Sandbox> {
    const info = await this.http.json<SandboxInfo>(
      {
        method: "POST",
        path: `${this.at(id)}/keepalive`,
        json: timeout === undefined ? {} : { timeout },
      },
      options,
    );
    return new Sandbox(this, info);
  }

  /**
   * Pauses a persistent sandbox: its memory and its disk become files, and it holds no memory and no CPU. What runs in it goes on when it is
   * resumed, and every call into it resumes it. Code `sandbox_not_persistent` for one that is ephemeral.
   */
  pause(id: string, options: CallOptions = {}): Promise<Sandbox> {
    return this.#act(id, "pause", options);
  }

  /** Resumes a paused sandbox and waits until it runs; its timeout begins anew. Code `no_capacity` where there is no room for it now: it stays paused. */
  resume(id: string, options: CallOptions = {}): Promise<Sandbox> {
    return this.#act(id, "resume", options);
  }

  /** Makes `count` sandboxes, at most 100, that go on from its memory and its disk as they are now: all or none. It goes on itself. */
  async fork(id: string, count = 1, options: CreateOptions = {}): Promise<Sandbox[]> {
    const call = {
      method: "POST",
      path: `${this.at(id)}/fork`,
      json: { count },
      creates: true,
      headers: keyHeader(options),
      answerWithinMs: CREATE_WITHIN_MS,
    } as const;
    const { items } = await this.http.json<SandboxForks>(call, options);
    return items.map((info) => new Sandbox(this, info));
  }

  /** Has it go on from a snapshot, by id or name, of the same template and size. What it was until then is lost. */
  async rollback(id: string, snapshot: string, options: CallOptions = {}): Promise<Sandbox> {
    const path = `${this.at(id)}/rollback`;
    const call = { method: "POST", path, json: { snapshot }, answerWithinMs: CREATE_WITHIN_MS } as const;
    return new Sandbox(this, await this.http.json<SandboxInfo>(call, options));
  }

  /** Gives the sandbox as it is now, and again with each change of it, until `signal` aborts. */
  follow(id: string, options: CallOptions = {}): AsyncGenerator<Sandbox, void> {
    const source = { id, read: (known: string, own: CallOptions) => this.get(known, own) };
    return followResource(this.http, "sandbox", source, options);
  }

  /**
   * Resolves when its `status` is `until`, or one of them. Throws `SkerryStatusError` where it has failed or
   * is destroyed instead.
   */
  wait(id: string, until: Status<Sandbox>, options: WaitOptions = {}): Promise<Sandbox> {
    const source = { id, read: (known: string, own: CallOptions) => this.get(known, own) };
    return waitForStatus("sandbox", source, until, options);
  }

  async #act(id: string, verb: "pause" | "resume", options: CallOptions): Promise<Sandbox> {
    const path = `${this.at(id)}/${verb}`;
    const call = { method: "POST", path, json: {}, answerWithinMs: CREATE_WITHIN_MS } as const;
    return new Sandbox(this, await this.http.json<SandboxInfo>(call, options));
  }
}
