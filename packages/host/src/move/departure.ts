// The source's side of one move. Until the target has everything, each failure is undone and the guest
// resumes here. After that the guest is paused on both hosts, and only control decides which of them runs it;
// a deadline of this host must not.

import { once } from "node:events";
import { chmod, chown, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { addAbortSignal, Readable, type Duplex } from "node:stream";
import { SkerryError } from "@skerry/contract/errors";
import type { Departed, DepartureOrder, MoveStream } from "@skerry/contract/host-api/move-calls";
import type { Logger } from "pino";
import { wakeGuest } from "../guest/agent.ts";
import type { LiveVm } from "../vm/start/clone.ts";
import type { VmRecord } from "../vm/record/record.ts";
import type { Hold, GuestHalt } from "../vm/lifecycle/guest-halt.ts";
import { splice, type Destination, type Peers } from "./peers.ts";
import { cancelMigration, mirrorDisk, moveSockets, sendMemory } from "../vm/qemu/migration.ts";

export interface DepartureOptions {
  readonly record: VmRecord;
  readonly live: LiveVm;
  readonly guestHalt: GuestHalt;
  readonly uid: number;
  readonly order: DepartureOrder;
  /** Write to the record that the VM may run elsewhere, and that it runs here after all; the VM may use more CPU in between. */
  readonly begin: () => Promise<void>;
  readonly goneOn: () => Promise<void>;
  /** The content of the layer with this digest. */
  readonly layer: (digest: string) => Promise<AsyncIterable<Buffer>>;
  readonly peers: Peers;
  readonly log: Logger;
}

/** How long new operations may still begin while earlier ones keep the guest busy. */
const PATIENCE_MS = 30_000;

export class Departure {
  readonly #options: DepartureOptions;
  readonly #abort = new AbortController();
  readonly #bytes = { disk: 0, memory: 0 };
  #hold: Hold | undefined;
  /** The attempt to resume the guest here; undefined before the first one, and after a failed one. */
  #home: Promise<void> | undefined;
  /** Resolves when the target has everything and the guest is paused; rejects when the guest was resumed
   *  here, or could not be. */
  readonly done: Promise<Departed>;

  constructor(options: DepartureOptions) {
    this.#options = options;
    this.done = this.#run();
    this.done.catch(() => undefined); // each caller that awaits it gets the error
  }

  get moveId(): string {
    return this.#options.order.move_id;
  }

  /** Resolves when the guest runs here again. It can be called again after a rejection. */
  async stay(): Promise<void> {
    this.#abort.abort(new SkerryError("canceled", "The move was canceled."));
    await this.done.catch(() => undefined);
    await this.#goHome();
  }

  async #run(): Promise<Departed> {
    const { live, guestHalt, order, begin } = this.#options;
    const { signal } = this.#abort;
    try {
      await begin();
      for (const digest of order.layers) await this.#sendLayer(digest);
      await using _disk = await this.#relay("disk");
      await mirrorDisk(live.qmp, signal);
      this.#hold = await guestHalt.hold({ patienceMs: PATIENCE_MS, signal });
      await using _memory = await this.#relay("memory");
      const { stoppedMs } = await sendMemory(live.qmp, signal);
      return {
        still_ms: Math.round(performance.now() - stoppedMs),
        disk_bytes: this.#bytes.disk,
        memory_bytes: this.#bytes.memory,
      };
    } catch (error) {
      const cause: unknown = signal.aborted ? signal.reason : error;
      // QEMU may wait for the target, and answers no command until the target does or the connection ends.
      this.#abort.abort();
      await this.#goHome().catch((failure: unknown) => {
        // Where its QEMU has ended, `VmLifecycle` reports the end of the VM. Otherwise control cancels the
        // move again.
        this.#options.log.warn({ err: failure, vm: this.#options.record.id }, "a VM does not go on");
      });
      if (cause instanceof SkerryError) throw cause;
      throw new SkerryError("move_failed", `The move broke off: ${reasonOf(cause)}`, { cause });
    }
  }

  #goHome(): Promise<void> {
    this.#home ??= this.#goOn().catch((cause: unknown) => {
      this.#home = undefined;
      throw new SkerryError("move_failed", `The VM does not go on yet: ${reasonOf(cause)}`, { cause });
    });
    return this.#home;
  }

  async #goOn(): Promise<void> {
    const { live, goneOn } = this.#options;
    await cancelMigration(live.qmp);
    if (this.#hold !== undefined) await wakeGuest(live.channel);
    this.#hold?.release();
    this.#hold = undefined;
    await goneOn();
  }

  async #sendLayer(digest: string): Promise<void> {
    const { layer, peers } = this.#options;
    const content = Readable.from(await layer(digest));
    await peers.sendLayer(this.#destination, digest, content, this.#abort.signal);
  }

  /** A socket in the VM's folder that leads to the target, for the one connection that QEMU will make.
   *  Only this VM's QEMU may connect, because any QEMU that a guest has broken into could reach the
   *  folder. The target has accepted our connection before our QEMU gets its own. */
  async #relay(stream: MoveStream): Promise<AsyncDisposable> {
    const { record, uid, peers } = this.#options;
    const { signal } = this.#abort;
    const path = join(record.folder, moveSockets[stream]);
    const target = addAbortSignal(signal, await peers.open(this.#destination, stream, signal));
    await rm(path, { force: true });
    const server = createServer((own) => {
      server.close();
      own.on("error", () => undefined);
      own.on("data", (part: Buffer) => (this.#bytes[stream] += part.length));
      if (stream === "disk") this.#expectAnswers(own, target);
      splice(addAbortSignal(signal, own), target);
    });
    server.listen(path);
    await once(server, "listening");
    await chmod(path, 0o600);
    await chown(path, uid, uid);
    return {
      async [Symbol.asyncDispose]() {
        server.close();
        await rm(path, { force: true });
      },
    };
  }

  /** What the guest writes to its disk waits for the target too, which may be before the first query of
   *  the migration's progress. */
  #expectAnswers(own: Duplex, target: Duplex): void {
    const { silentMs } = this.#options.peers;
    const silent = (): void =>
      this.#abort.abort(new SkerryError("move_failed", "The target has fallen silent."));
    let timer: NodeJS.Timeout | undefined;
    own.on("data", () => (timer ??= setTimeout(silent, silentMs)));
    target.on("data", () => {
      clearTimeout(timer);
      timer = undefined;
    });
    own.once("close", () => clearTimeout(timer));
  }

  get #destination(): Destination {
    const { record, order } = this.#options;
    return { address: order.address, path: `/vms/${record.id}/arrival`, ticket: order.ticket };
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
