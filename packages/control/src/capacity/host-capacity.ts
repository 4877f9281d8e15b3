// What is free on the hosts, as it was a moment ago. Placement looks for candidates here and decides under lock, so an old figure costs
// one more try, and reading the load of a thousand hosts for each VM is not needed.

import type { Size } from "@skerry/contract/sizes";
import type { Database } from "../db/database.ts";
import { availableHosts, type HostLoad } from "./capacity-rows.ts";

const FRESH_MS = 1_000;

export class HostCapacity {
  readonly #db: Database;
  #hosts = new Map<string, HostLoad>();
  /** What is being placed at this moment, by host. */
  readonly #pending = new Map<string, Size[]>();
  #readAtMs = -Infinity;
  #reading: Promise<void> | undefined;

  constructor(db: Database) {
    this.#db = db;
  }

  /** All hosts that may take VMs, with what is being placed on them at this moment. A caller that chooses one calls `hold` before anything
   *  asynchronous happens: of many who wait for the same reading, each must see what those before it have chosen. */
  get hosts(): readonly HostLoad[] {
    return [...this.#hosts.values()].map((host) =>
      (this.#pending.get(host.id) ?? []).reduce((load, size) => loaded(load, size), host),
    );
  }

  /** All hosts that may take VMs, whatever is being placed on them: most of that may be refused yet, by a quota or for a row that has changed. */
  get withoutPending(): readonly HostLoad[] {
    return [...this.#hosts.values()];
  }

  /** Resolves when `hosts` is as it was a moment ago at least. */
  async refresh(): Promise<void> {
    if (performance.now() - this.#readAtMs > FRESH_MS) await (this.#reading ??= this.#read());
  }

  /** Begins to refresh. Where that fails, the next caller that waits for it tries again and gets the error. */
  prefetch(): void {
    this.refresh().catch(() => undefined);
  }

  /** Resolves when `hosts` is as it is after the call. Used before a request is refused. */
  async refreshNow(): Promise<void> {
    // One that is under way may have begun too early.
    await this.#reading?.catch(() => undefined);
    await (this.#reading ??= this.#read());
  }

  /** Counts for others until it is disposed of: or all who come at the same time would try the same host. */
  hold(hostId: string, size: Size): Disposable {
    const pending = this.#pending.get(hostId) ?? [];
    this.#pending.set(hostId, pending);
    pending.push(size);
    return {
      [Symbol.dispose]: () => {
        pending.splice(pending.indexOf(size), 1);
        if (pending.length === 0) this.#pending.delete(hostId);
      },
    };
  }

  /** What was seen of a host under lock; undefined: it takes none any more. */
  saw(hostId: string, host: HostLoad | undefined): void {
    if (host === undefined) this.#hosts.delete(hostId);
    else this.#hosts.set(hostId, host);
  }

  async #read(): Promise<void> {
    try {
      const hosts = await availableHosts(this.#db);
      this.#hosts = new Map(hosts.map((host) => [host.id, host]));
      this.#readAtMs = performance.now();
    } finally {
      this.#reading = undefined;
    }
  }
}

/** The host with one VM more. */
export function loaded(host: HostLoad, { memory_mib, vcpus }: Size): HostLoad {
  const { used_memory_mib, used_vcpus } = host;
  return { ...host, used_memory_mib: used_memory_mib + memory_mib, used_vcpus: used_vcpus + vcpus };
}
