// The host's side of the name proxy: starts its process when the first policy with names is loaded, tells it each guest's policy, starts it
// again when it dies or hangs, and takes over one that an earlier host process has started. The policies are told before the rules that
// need them are loaded; where that fails nothing is loaded, and a slot without its proxy passes nothing by name.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Opening } from "./named-addresses.ts";
import { onLine, readLine } from "./name-proxy-lines.ts";
import type {
  NamePolicy,
  NameProxyAnswer,
  NameProxyOpening,
  NameProxyRequest,
  NameProxySettings,
} from "./name-proxy-protocol.ts";

export interface NameProxyOptions extends Omit<NameProxySettings, "identity"> {
  /** The program and its arguments before the settings, for the node that runs this. */
  readonly program: readonly [string, ...string[]];
  /** Ends what runs under the proxy's user: one that says nothing holds the ports. */
  readonly endSilent: () => Promise<void>;
  readonly log: Pick<Logger, "info" | "warn">;
}

type Ask = NameProxyRequest extends infer One ? (One extends unknown ? Omit<One, "id"> : never) : never;

const START_DEADLINE_MS = 15_000;
const LOOK_MS = 25;
const ANSWER_DEADLINE_MS = 5_000;
/** Between looks at whether it still answers. */
const PING_MS = 10_000;
/** Of its heap; what is on its way between sockets is bounded by their number. */
const HEAP_MAX_MIB = 256;
/**
 * Flags for the node that runs it. Bytes that pass leave buffers behind, and the nursery is swept before they
 * are many.
 */
export const nameProxyFlags = [
  ...["--no-warnings", `--max-old-space-size=${HEAP_MAX_MIB}`, "--optimize-for-size"],
  ...["--max-semi-space-size=2", "--scavenger-max-new-space-capacity-mb=1"],
] as const;
const RESTART_PAUSE_MS = 200;
/** That are under way; `names/control-door.ts` asks for half as many. */
const OPENINGS_MAX = 1_024;

export class NameProxyLost extends Error {
  override readonly name = "NameProxyLost";
}

export class NameProxy {
  readonly #options: NameProxyOptions;
  /** By the address of the guest's slot. */
  readonly #policies = new Map<string, NamePolicy>();
  readonly #waiting = new Map<number, PromiseWithResolvers<NameProxyAnswer>>();
  #connection: Promise<Socket> | undefined;
  #socket: Socket | undefined;
  #lastId = 0;
  #onOpening: (opening: Opening) => Promise<void> = () => Promise.resolve();
  #openings = 0;
  #isComingBack = false;
  #closed = false;

  constructor(options: NameProxyOptions) {
    this.#options = options;
  }

  /** What is done when a lookup has led a guest to addresses. */
  onOpening(work: (opening: Opening) => Promise<void>): void {
    this.#onOpening = work;
  }

  policyOf(guest: string): NamePolicy | undefined {
    return this.#policies.get(guest);
  }

  /** In force when it resolves. `isNew`: of a guest that has just got this address. */
  async set(guest: string, policy: NamePolicy, isNew: boolean): Promise<void> {
    this.#policies.set(guest, policy);
    await this.#ask({ set: { guest, policy, isNew } });
  }

  /** Of a guest that was there before this host process. The proxy is told as soon as it is there. */
  renew(guest: string, policy: NamePolicy): void {
    this.#policies.set(guest, policy);
    void this.#ask({ set: { guest, policy, isNew: false } }).catch(() => this.#bringBack());
  }

  /** The guest has no policy with names any more. At once where it had none, so that a proxy that is busy holds up nobody else. One that an
   *  earlier host process has told the proxy of is forgotten there, because this one does not renew it. */
  async forget(guest: string): Promise<void> {
    if (!this.#policies.delete(guest) || this.#socket === undefined) return;
    await this.#send(this.#socket, { forget: guest }).catch(() => undefined);
  }

  /** The names that it was refused and the secrets that it sent, as far as the proxy that runs now knows. */
  async traffic(guest: string): Promise<Required<Pick<NameProxyAnswer, "denied" | "injected">>> {
    const asked = this.#socket && this.#send(this.#socket, { denials: guest });
    const answer = await asked?.catch(() => undefined);
    return { denied: answer?.denied ?? [], injected: answer?.injected ?? [] };
  }

  /** Lets the proxy run on for the next host process. */
  close(): void {
    this.#closed = true;
    this.#socket?.destroy();
  }

  async #ask(request: Ask): Promise<NameProxyAnswer> {
    return this.#send(await this.#connected(), request);
  }

  #send(socket: Socket, request: Ask): Promise<NameProxyAnswer> {
    if (socket.destroyed) return Promise.reject(new NameProxyLost("the name proxy has gone"));
    const id = (this.#lastId += 1);
    const waiting = Promise.withResolvers<NameProxyAnswer>();
    this.#waiting.set(id, waiting);
    const deadline = setTimeout(() => socket.destroy(), ANSWER_DEADLINE_MS);
    socket.write(`${JSON.stringify({ id, ...request })}\n`);
    return waiting.promise.finally(() => {
      clearTimeout(deadline);
      this.#waiting.delete(id);
    });
  }

  #connected(): Promise<Socket> {
    this.#connection ??= this.#connect().catch((error: unknown) => {
      this.#connection = undefined;
      throw error;
    });
    return this.#connection;
  }

  /** To the proxy that runs, where it is the right one, and otherwise to a new one. It knows all policies then. */
  async #connect(): Promise<Socket> {
    const { program, endSilent, log, socket: path, ...rest } = this.#options;
    const version = await readFile(program[0]);
    const identity = createHash("sha256").update(version).update(JSON.stringify(rest)).digest("hex");
    const settings: NameProxySettings = { ...rest, socket: path, identity };
    const endMs = performance.now() + START_DEADLINE_MS;
    let started = false;
    for (;;) {
      if (this.#closed) throw new NameProxyLost("this host process ends");
      const found = await this.#dial(path).catch(() => undefined);
      if (found?.identity === identity) return this.#begin(found.socket);
      if (found !== undefined) await this.#send(found.socket, { end: true }).catch(() => undefined);
      found?.socket.destroy();
      if (found === undefined && !started) {
        started = true;
        await endSilent();
        start(program, settings);
        log.info("the name proxy is started");
      }
      if (performance.now() > endMs) throw new NameProxyLost("the name proxy does not start");
      await sleep(LOOK_MS);
    }
  }

  async #begin(socket: Socket): Promise<Socket> {
    this.#socket = socket;
    socket.once("close", () => this.#lose(socket));
    socket.unref();
    const pings = setInterval(
      () => void this.#send(socket, { ping: true }).catch(() => undefined),
      PING_MS,
    ).unref();
    socket.once("close", () => clearInterval(pings));
    for (const [guest, policy] of this.#policies)
      await this.#send(socket, { set: { guest, policy, isNew: false } });
    return socket;
  }

  /** Resolves when the proxy has said who it is. */
  #dial(path: string): Promise<{ readonly socket: Socket; readonly identity: string }> {
    return new Promise((resolve, reject) => {
      const socket = connect(path);
      const deadline = setTimeout(() => socket.destroy(), ANSWER_DEADLINE_MS);
      socket.once("error", reject);
      socket.on("error", () => socket.destroy());
      socket.once("close", () => {
        clearTimeout(deadline);
        for (const waiting of this.#waiting.values())
          waiting.reject(new NameProxyLost("the name proxy has gone"));
        reject(new NameProxyLost("the name proxy has gone"));
      });
      onLine(socket, (line) => {
        const said = readLine(line);
        if (said === undefined) return void socket.destroy();
        if ("identity" in said) {
          clearTimeout(deadline);
          return resolve({ socket, identity: said.identity });
        }
        if ("opening" in said) return this.#open(socket, said);
        const waiting = this.#waiting.get(said.id);
        if (waiting === undefined) return void socket.destroy();
        waiting.resolve(said);
      });
    });
  }

  /** Where it cannot be done, HTTP and TLS get there all the same. */
  #open(socket: Socket, { opening, ttl_s: ttlS, ...led }: NameProxyOpening): void {
    if (this.#openings >= OPENINGS_MAX) return void socket.destroy();
    this.#openings += 1;
    void this.#onOpening({ ...led, ttlS })
      .catch((error: unknown) =>
        this.#options.log.warn({ err: error }, "an address could not be opened by its name"),
      )
      .then(() => this.#send(socket, { opened: opening }))
      .catch(() => undefined)
      .finally(() => (this.#openings -= 1));
  }

  #lose(socket: Socket): void {
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    this.#connection = undefined;
    if (this.#closed || this.#policies.size === 0) return;
    this.#options.log.warn("the name proxy has gone; until it is back nothing passes by name");
    void this.#bringBack();
  }

  async #bringBack(): Promise<void> {
    if (this.#isComingBack) return;
    this.#isComingBack = true;
    while (!this.#closed && this.#socket === undefined && this.#policies.size > 0) {
      await sleep(RESTART_PAUSE_MS);
      await this.#connected().catch((error: unknown) =>
        this.#options.log.warn({ err: error }, "the name proxy cannot be started"),
      );
    }
    this.#isComingBack = false;
  }
}

/** It outlives this process, so it has none of its files open. */
function start([program, ...args]: NameProxyOptions["program"], settings: NameProxySettings): void {
  const child = spawn(process.execPath, [...nameProxyFlags, program, ...args, JSON.stringify(settings)], {
    detached: true,
    stdio: "ignore",
    cwd: "/",
    env: {},
  });
  // Whether it comes up is seen at its socket.
  child.on("error", () => undefined);
  child.unref();
}
