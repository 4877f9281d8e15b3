// Asks every host how it is, and writes the answers down with the time of the database. A host never writes anything by itself: it is asked at the
// address that is known of it, and its answer counts for the row that has this address, also where it claims another name.

import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import type { HostInfo } from "@skerry/contract/host-api/host-info";
import { Deadline } from "../host-client/deadline.ts";
import { addressOfSocket } from "../host-client/host-directory.ts";
import type { Context } from "../context.ts";
import { isDatabaseOutage } from "../db/database.ts";
import { LeaseLostError } from "../db/fence.ts";
import { hostsToAsk, recordSilence, registerLocalHost, type KnownHost } from "./heartbeat-store.ts";
import { recordHeartbeats } from "./record-heartbeats.ts";
import type { BackgroundService, Report } from "../background/background-service.ts";
import type { Beat } from "./record-heartbeats.ts";

/** A host that has not answered by then is silent this time. */
const ANSWER_WITHIN_MS = 5_000;
/** Hosts that wait for their turn are asked at this distance, so that many do not all answer at once; 1,000 take 8 s. */
const BETWEEN_HOSTS_MS = 8;
/** Answers of one statement. */
const BATCH = 100;
/** After the start of this process, hosts and the way to them may still be starting too: their silence says nothing yet. */
export const START_GRACE_MS = 15_000;
/** Meanwhile the host of this machine is looked for more often: who comes first should not wait a whole period for the other. */
const LOCAL_RETRY_MS = 1_000;

interface Settings {
  readonly hostSocket: string;
  readonly everyMs: number;
  readonly graceMs?: number;
}

export function heartbeat(context: Context, settings: Settings): BackgroundService {
  const { everyMs, graceMs = START_GRACE_MS } = settings;
  const startedMs = performance.now();
  let othersAskedMs = -Infinity;
  return {
    name: "host-heartbeat",
    everyMs,
    async activate(stop) {
      const beganMs = performance.now();
      const starting = beganMs - startedMs < graceMs;
      const round = new Round(context, stop, !starting);
      const othersAreDue = beganMs - othersAskedMs >= everyMs / 2;
      if (othersAreDue) othersAskedMs = beganMs;
      const local = await round.askAll(addressOfSocket(settings.hostSocket), othersAreDue);
      const pauseMs = starting && local === undefined ? LOCAL_RETRY_MS : everyMs;
      // A round takes a good part of the period, which is from one to the next.
      return { ...round.report(), nextMs: Math.max(0, pauseMs - (performance.now() - beganMs)) };
    },
  };
}

/** One asking of all hosts. */
class Round {
  readonly #context: Context;
  readonly #stop: AbortSignal;
  readonly #silenceCounts: boolean;
  readonly #silent: string[] = [];
  #beats: Beat[] = [];
  #writing: Promise<unknown> = Promise.resolve();
  #asked = 0;
  #heard = 0;

  constructor(context: Context, stop: AbortSignal, silenceCounts: boolean) {
    this.#context = context;
    this.#stop = stop;
    this.#silenceCounts = silenceCounts;
  }

  /** Returns what the host beside control said. */
  async askAll(localAddress: string, othersToo: boolean): Promise<HostInfo | undefined> {
    const known = await hostsToAsk(this.#context.db);
    const local = this.#askLocal(localAddress, known);
    const others = known.filter(({ address }) => address !== localAddress);
    const answers: Promise<void>[] = [];
    for (const host of othersToo ? others : []) {
      if (this.#stop.aborted) break;
      answers.push(this.#ask(host));
      await sleep(BETWEEN_HOSTS_MS);
    }
    await Promise.all(answers);
    const found = await local;
    this.#flush();
    await this.#writing;
    if (!this.#silenceCounts || this.#stop.aborted) return found;
    const overdue = await recordSilence(this.#context.db, this.#silent);
    if (overdue) this.#context.wake("host-health-monitor");
    return found;
  }

  report(): Report {
    return { examined: this.#asked, changed: this.#heard, failed: this.#asked - this.#heard, more: false };
  }

  async #ask(host: KnownHost): Promise<void> {
    const info = await this.#infoAt(host.address);
    // Another host may answer on a socket by now; over mutual TLS that is impossible.
    if (info === undefined || (!host.joined && info.name !== host.name)) this.#silent.push(host.id);
    else this.#hear({ id: host.id, info });
  }

  async #askLocal(address: string, known: readonly KnownHost[]): Promise<HostInfo | undefined> {
    const info = await this.#infoAt(address);
    const row = known.find((host) => host.address === address && host.name === info?.name);
    const id = row?.id ?? (info && (await registerLocalHost(this.#context.db, info.name, address)));
    if (info !== undefined && id !== undefined) this.#hear({ id, info });
    // Also those that were here under another name.
    this.#silent.push(
      ...known.filter((host) => host.address === address && host.id !== id).map((host) => host.id),
    );
    return id === undefined ? undefined : info;
  }

  async #infoAt(address: string): Promise<HostInfo | undefined> {
    this.#asked += 1;
    using deadline = new Deadline(ANSWER_WITHIN_MS, this.#stop);
    try {
      return await this.#context.hosts.client(address).info(deadline.signal);
    } catch (error) {
      const isReplaced = error instanceof SkerryError && error.code === "control_superseded";
      if (isReplaced) this.#context.log.error({ address }, error.message);
      else this.#context.log.debug({ err: error, address }, "a host did not answer");
      return undefined;
    }
  }

  #hear(beat: Beat): void {
    this.#beats.push(beat);
    if (this.#beats.length >= BATCH) this.#flush();
  }

  #flush(): void {
    const batch = this.#beats.splice(0);
    if (batch.length === 0) return;
    this.#writing = this.#writing.then(() => this.#write(batch));
    // The caller that waits for all of it gets the error.
    this.#writing.catch(() => undefined);
  }

  async #write(batch: readonly Beat[]): Promise<void> {
    try {
      const news = await recordHeartbeats(this.#context.db, batch);
      this.#heard += batch.length;
      if (news) this.#context.wake("vm-cleanup");
    } catch (error) {
      const [first] = batch;
      if (error instanceof LeaseLostError || isDatabaseOutage(error)) throw error;
      if (batch.length <= 1 || first === undefined) {
        this.#context.log.warn({ err: error, host_id: first?.id }, "a host says what cannot be stored");
        return;
      }
      // One host that lies must not silence the others.
      for (const beat of batch) await this.#write([beat]);
    }
  }
}
