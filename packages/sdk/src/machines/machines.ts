// Machines by id or name: microVMs that are meant to keep running.

import type { MachineLogs } from "@skerry/contract/machines/machine-logs";
import type {
  Machine,
  MachineCreateRequest,
  MachineForks,
  MachineList,
  MachineListQuery,
  MachineStartRequest,
  MachineUpdateRequest,
} from "@skerry/contract/machines/machine";
import type { MachineEnd } from "@skerry/contract/machines/machine-end";
import { orDestroyed } from "../http/abandoned-creation.ts";
import { errorOfEvent, errorOfStream, SkerryConnectionError } from "../errors/errors.ts";
import { followResource } from "../events/follow-resource.ts";
import { waitForStatus, type Status, type WaitOptions } from "../events/wait-for-status.ts";
import { readEvents } from "../http/event-stream.ts";
import { keyHeader, type CallOptions, type CreateOptions, type HttpClient } from "../http/http.ts";
import {
  everyItem,
  filterQuery,
  pageQuery,
  type CountedPage,
  type CountedPageOptions,
  type Page,
  type PageOptions,
} from "../http/pages.ts";
import { checkTemplate } from "../vms/template-needed.ts";
import { VmCalls } from "../vms/vm-calls.ts";

export interface MachineFilter {
  readonly status?: NonNullable<MachineListQuery["status"]> | undefined;
  /** `true`: only those that have not been destroyed. */
  readonly alive?: boolean | undefined;
  /** `true`: only those that their policy starts again and again. */
  readonly crashLoop?: boolean | undefined;
  /** `true`: only those that run and whose health check fails. */
  readonly unhealthy?: boolean | undefined;
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

export type MachineCounts = NonNullable<MachineList["counts"]>;

export interface LogOptions extends CallOptions {
  /**
   * How many of the last lines: 0 to 10,000, default 100; with `grep` how many are searched, default 10,000.
   */
  readonly lines?: number | undefined;
  /**
   * Only lines that contain this text of 1 to 256 characters. It is no pattern, and upper and lower case
   * differ.
   */
  readonly grep?: string | undefined;
  /** Only lines that began at or after this time, in ISO 8601. */
  readonly since?: string | undefined;
  /** Only lines that began before it; not for a log that is followed. */
  readonly until?: string | undefined;
  /** Default true; `false` leaves out lines that look like those of a kernel. */
  readonly kernel?: boolean | undefined;
  /**
   * Default false; `true` puts the time at which it began and a blank before each line, `-` where it is not
   * known.
   */
  readonly timestamps?: boolean | undefined;
}

function logQuery({ lines, kernel, timestamps, ...texts }: Omit<LogOptions, "signal">) {
  return {
    ...texts,
    ...{ lines: lines?.toString(), kernel: kernel?.toString(), timestamps: timestamps?.toString() },
  };
}

export interface StartOptions extends CallOptions {
  /** Gives up what is on the machine's own disk, also where that is lost, unreadable, or on a host that is away. */
  readonly newDisk?: boolean | undefined;
}

/** A first use of a template freezes it, which takes as long as a cold boot. The server itself gives up before this. */
const START_WITHIN_MS = 240_000;
/** The longest grace, and what comes after it. A restart starts too. */
const STOP_WITHIN_MS = 5 * 60_000 + 60_000;

/**
 * Every method throws `SkerryApiError` where the server refuses, `SkerryConnectionError` where it cannot be reached
 * and `SkerryInputError` where the arguments cannot be sent; each takes a `signal`. Where a method takes an `id`, the name of a
 * machine of the organization does as well; it costs the server one more look into its database.
 */
export class Machines extends VmCalls {
  constructor(http: HttpClient) {
    super(http, "/v1/machines");
  }

  /**
   * Creates a machine and waits until it runs. `template` is required, or a `snapshot` of a machine, whose main process then goes on; `command` is its main process, whose end is the machine's, and
   * `restart` says what then: by default one that failed is started again, up to ten times in a row. `name` is unique among the
   * organization's machines until this one is destroyed: code `name_taken` where another one has it.
   * Safe to repeat: after a broken connection it is sent again under the same `Idempotency-Key`, and creates one machine.
   * A `signal` that is aborted meanwhile has what was created destroyed, unless `idempotencyKey` is given.
   */
  async create(request: MachineCreateRequest, options: CreateOptions = {}): Promise<Machine> {
    checkTemplate(request);
    return orDestroyed(
      options,
      (own) => {
        const call = {
          method: "POST",
          path: "/v1/machines",
          json: request,
          creates: true,
          headers: keyHeader(own),
          answerWithinMs: START_WITHIN_MS,
        } as const;
        return this.http.json<Machine>(call, own);
      },
      ({ id }) => this.destroy(id),
    );
  }

  /** Code `machine_not_found` where there is none, or where it belongs to another organization. */
  get(id: string, options: CallOptions = {}): Promise<Machine> {
    return this.http.json<Machine>({ method: "GET", path: this.at(id) }, options);
  }

  /** Every machine that passes the filter, newest first, read page by page as you go. */
  list(filter: MachineFilter = {}, options: CallOptions = {}): AsyncGenerator<Machine, void> {
    return everyItem((cursor) => this.page({ ...filter, cursor }, options));
  }

  /** One page of the list; with `counts` also how many there are of each status. */
  page(
    query: MachineFilter & CountedPageOptions = {},
    options: CallOptions = {},
  ): Promise<CountedPage<Machine, MachineCounts>> {
    return this.http.json<MachineList>(
      { method: "GET", path: "/v1/machines", query: { ...pageQuery(query), ...filterQuery(query) } },
      options,
    );
  }

  /** Starts a machine that does not run, from its own disk. It runs when this returns, unless its `status` says that work goes on. With
   *  `newDisk` it starts with a new disk of its template, and what is on the old one is given up. */
  start(id: string, { newDisk, ...options }: StartOptions = {}): Promise<Machine> {
    const body = newDisk === true ? { new_disk: true } : undefined;
    return this.#setPower(id, { act: "start", answerWithinMs: START_WITHIN_MS, body }, options);
  }

  /** Makes `count` machines, at most 100, that go on from its memory and its disk as they are now: all or none. It runs on itself. */
  async fork(id: string, count = 1, options: CreateOptions = {}): Promise<Machine[]> {
    const call = {
      method: "POST",
      path: `${this.at(id)}/fork`,
      json: { count },
      creates: true,
      headers: keyHeader(options),
      answerWithinMs: START_WITHIN_MS,
    } as const;
    return (await this.http.json<MachineForks>(call, options)).items;
  }

  /** Has it go on from a snapshot, by id or name, of the same template, size and command. What it was until then is lost, with its disk. */
  rollback(id: string, snapshot: string, options: CallOptions = {}): Promise<Machine> {
    const path = `${this.at(id)}/rollback`;
    const call = { method: "POST", path, json: { snapshot }, answerWithinMs: START_WITHIN_MS } as const;
    return this.http.json<Machine>(call, options);
  }

  /** SIGTERM to its main process, SIGKILL after its `stop_timeout`. Its disk is kept, and nothing starts it again by itself. */
  stop(id: string, options: CallOptions = {}): Promise<Machine> {
    return this.#setPower(id, { act: "stop", answerWithinMs: STOP_WITHIN_MS }, options);
  }

  /**
   * Changes what is named, and leaves the rest as it is; in `env` and `metadata` null removes an entry.
   * `env`,
   * `command` and `size` wait in `pending` of the answer until the machine is started next, or with
   * `restart_now` until it is restarted for that. Code `no_capacity`, `size_too_large` or `quota_exceeded`
   * where there is no room for a larger size: nothing is changed then.
   */
  update(id: string, changes: MachineUpdateRequest, options: CallOptions = {}): Promise<Machine> {
    const answerWithinMs =
      changes.restart_now === true ? { answerWithinMs: STOP_WITHIN_MS + START_WITHIN_MS } : {};
    const call = { method: "PATCH", path: this.at(id), json: changes, ...answerWithinMs } as const;
    return this.http.json<Machine>(call, options);
  }

  /** Stops a machine and starts it again; one that does not run is started. */
  restart(id: string, options: CallOptions = {}): Promise<Machine> {
    return this.#setPower(id, { act: "restart", answerWithinMs: STOP_WITHIN_MS + START_WITHIN_MS }, options);
  }

  /** Destroys a machine and its disk. Works from every status, and more than once. */
  async destroy(id: string, options: CallOptions = {}): Promise<void> {
    await this.http.done({ method: "DELETE", path: this.at(id) }, options);
  }

  /** Each time that it ended without being asked to, why, and when it ran again, newest first; one page. The last 100 are kept. */
  restarts(id: string, page: PageOptions = {}, options: CallOptions = {}): Promise<Page<MachineEnd>> {
    const call = { method: "GET", path: `${this.at(id)}/restarts`, query: pageQuery(page) } as const;
    return this.http.json<Page<MachineEnd>>(call, options);
  }

  /** The last lines of its console: what its main process and its kernel have printed. They may hold control characters. */
  async logs(id: string, { signal, ...query }: LogOptions = {}): Promise<readonly string[]> {
    const request = {
      method: "GET",
      path: `${this.at(id)}/logs`,
      query: logQuery(query),
    } as const;
    return (await this.http.json<MachineLogs>(request, { signal })).lines;
  }

  /** The last lines and then each one as it comes, over stops and starts, until the machine is destroyed. */
  async *followLogs(id: string, { signal, ...options }: LogOptions = {}): AsyncGenerator<string, void> {
    const query = { ...logQuery(options), follow: "true" };
    const headers = { accept: "text/event-stream" };
    const request = { method: "GET", path: `${this.at(id)}/logs`, query, headers } as const;
    const chunks = await this.http.open(request, { signal });
    try {
      for await (const { event, data } of readEvents(chunks)) {
        if (event === "line") yield lineOf(data);
        if (event === "error")
          throw errorOfEvent(JSON.parse(data)) ?? new TypeError("an error without a code");
        if (event === "end") return;
      }
    } catch (error) {
      throw errorOfStream(error, this.http.baseUrl);
    }
    const message = `The connection to ${this.http.baseUrl} ended before the log did.`;
    throw new SkerryConnectionError(this.http.baseUrl, message);
  }

  /** Gives the machine as it is now, and again with each change of it, until `signal` aborts. */
  follow(id: string, options: CallOptions = {}): AsyncGenerator<Machine, void> {
    const source = { id, read: (known: string, own: CallOptions) => this.get(known, own) };
    return followResource(this.http, "machine", source, options);
  }

  /**
   * Resolves when its `status` is `until`, or one of them. Throws `SkerryStatusError` where it has failed or
   * is destroyed instead.
   */
  wait(id: string, until: Status<Machine>, options: WaitOptions = {}): Promise<Machine> {
    const source = { id, read: (known: string, own: CallOptions) => this.get(known, own) };
    return waitForStatus("machine", source, until, options);
  }

  #setPower(id: string, { act, answerWithinMs, body }: PowerCall, options: CallOptions): Promise<Machine> {
    return this.http.json<Machine>(
      {
        method: "POST",
        path: `${this.at(id)}/${act}`,
        answerWithinMs,
        ...(body === undefined ? {} : { json: body }),
      },
      options,
    );
  }
}

interface PowerCall {
  readonly act: "start" | "stop" | "restart";
  readonly answerWithinMs: number;
  readonly body?: MachineStartRequest | undefined;
}

function lineOf(data: string): string {
  const { line } = JSON.parse(data) as { readonly line?: unknown };
  if (typeof line !== "string") throw new TypeError("a line without text");
  return line;
}
