// The proxy in front of apps as this host drives it. What is to be served is in files, from which the proxy
// starts anew when it has died, and what has changed is told to the one that runs. Each half second, and
// whenever a VM gives up its slot, the seats are looked at: requests go to no VM that has ended, and to none
// whose check fails while another one of its backend is well.

import { chmod, mkdir, open, rename } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type {
  EdgeDocument,
  EdgeFailures,
  EdgeInstance,
  EdgeState,
  EdgeTraffic,
} from "@skerry/contract/host-api/edge";
import type { Logger } from "pino";
import type { Certified } from "../config/identity.ts";
import { configOf, routeEntries, type ConfigFacts } from "./haproxy-config.ts";
import { Haproxy, ProxyFault } from "./haproxy.ts";
import { doorEntries, peersOf, withOwn, type InnerDoor } from "./inner-door.ts";
import {
  areEqual,
  leavingCommands,
  mapCommands,
  needsConfig,
  placeCommands,
  placesOf,
  seatCommands,
  type Seat,
  type Told,
} from "./proxy-commands.ts";
import { proxyFiles, replaceFile, replaceMap, type ProxyFiles } from "./proxy-files.ts";
import { placeName, seated, seatName, type Seating } from "./seating.ts";
import { VmSeats, type EdgeVms } from "./vm-seats.ts";
import { STORED, storedDocument, withAddresses } from "./stored-document.ts";
import { besideDoor } from "./tcp-words.ts";
import { portEntries, type TcpRange } from "./tcp.ts";
import { KeptTold } from "./kept-told.ts";
import { Answers, ANSWERS_TABLE, countedAnswers } from "./answers.ts";
import { Failures, FAILURES_RING } from "./failures.ts";
import { Traffic } from "./traffic.ts";

export interface EdgeOptions {
  readonly folder: string;
  /** ADDRESS:PORT for requests. */
  readonly listen: string;
  /** Connections of one address at once: one client, or a load balancer, takes no more of them. */
  readonly perAddress: number;
  /** Address at which requests of other hosts come in, and the certificate for it; absent: none. */
  readonly door?: {
    /** ADDRESS:PORT. */
    readonly listen: string;
    readonly certified: () => Certified | undefined;
    /** Lets the proxy connect to these, each IPv4:PORT, and to no other machine. */
    readonly allow: (peers: readonly string[]) => Promise<void>;
  };
  readonly uid: number;
  readonly cgroup: () => Promise<string | undefined>;
  readonly vms: EdgeVms;
  readonly log: Pick<Logger, "info" | "warn">;
}

const LOOK_MS = 500;
/** After a proxy that could not be told or started. */
const FAULT_PAUSE_MS = 5_000;
const EMPTY: EdgeDocument = { version: 0, backends: [], routes: [] };

export class Edge {
  readonly #options: EdgeOptions;
  readonly #files: ProxyFiles;
  readonly #proxy: Haproxy;
  #document = EMPTY;
  #seating: Seating = [];
  /** Undefined: it is not known what the proxy has. */
  #told: Told | undefined;
  readonly #kept: KeptTold;
  #isFirst = true;
  #served = 0;
  #fault: string | null = null;
  readonly #seats: VmSeats;
  readonly #traffic = new Traffic();
  readonly #answers = new Answers();
  readonly #failures: Failures;
  #turn: Promise<unknown> = Promise.resolve();
  #hasWarned = false;

  private constructor(options: EdgeOptions) {
    this.#options = options;
    this.#files = proxyFiles(options.folder);
    this.#seats = new VmSeats(options.vms, options.log);
    this.#failures = new Failures(options.folder);
    this.#kept = new KeptTold(options.folder, (told) => this.#config(told, () => undefined));
    this.#proxy = new Haproxy(this.#files, options.uid, options.cgroup);
  }

  /** With the document that the process before has stored. */
  static async open(options: EdgeOptions): Promise<Edge> {
    const edge = new Edge(options);
    // One that is not understood was written by another version: control sends it again.
    edge.#document = (await storedDocument(options.folder)) ?? EMPTY;
    return edge;
  }

  /**
   * Serves the document, unless a later one is there. Never throws for the proxy's faults: the state tells
   * them.
   */
  async apply(document: EdgeDocument): Promise<EdgeState> {
    const resolved = await withAddresses(document);
    await this.#inTurn(async () => {
      if (document.version < this.#document.version) return;
      await this.#store(resolved);
      this.#document = resolved;
      await this.#bring();
    });
    return this.state();
  }

  async state(): Promise<EdgeState> {
    const instances = await Promise.all(
      (this.#told?.seats ?? []).map((seats, place) => this.#shown(place, seats)),
    );
    return { version: this.#served, fault: this.#fault, instances: instances.flat() };
  }

  /** Requests of each instance that has a seat, or had one a short time ago. */
  async traffic(): Promise<EdgeTraffic> {
    await this.#inTurn(() => this.#count());
    return { instances: this.#traffic.sums(), routes: this.#answers.sums() };
  }

  /** Requests of an app that were answered with 5xx. */
  async failures(app: string, sinceMs: number): Promise<EdgeFailures> {
    await this.#inTurn(() => this.#readFailures());
    return { failures: await this.#failures.read(app, sinceMs) };
  }

  /** A VM gives up its slot, which another one may get: resolves when no request goes to its address. */
  async leave(address: string): Promise<void> {
    const isSeated = this.#told?.seats.some((seats) =>
      seats.some((seat) => seat.address?.split(":")[0] === address),
    );
    if (isSeated === true) await this.#inTurn(() => this.#bring());
  }

  /** Looks after the proxy until `stop`. Never rejects. */
  async watch(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      if (this.#document.version > 0) await this.#inTurn(() => this.#bring());
      await this.#inTurn(() => this.#readFailures());
      await sleep(this.#fault === null ? LOOK_MS : FAULT_PAUSE_MS, undefined, {
        signal: stop,
        ref: false,
      }).catch(() => undefined);
    }
    await this.#turn;
  }

  /** Ends the proxy. */
  async end(): Promise<void> {
    await this.#proxy.end();
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  async #store(document: EdgeDocument): Promise<void> {
    await mkdir(this.#files.empty, { recursive: true });
    // The proxy connects to its own sockets in there.
    await chmod(this.#files.empty, 0o711);
    const path = join(this.#options.folder, STORED);
    {
      await using part = await open(`${path}.part`, "w", 0o600);
      await part.writeFile(JSON.stringify(document));
      await part.sync();
    }
    await rename(`${path}.part`, path);
  }

  /** Makes the proxy serve the document with what the VMs are now. */
  async #bring(): Promise<void> {
    const document = this.#document;
    try {
      const answers = await this.#proxy.answers();
      if (answers && this.#isFirst) await this.#goOn();
      this.#isFirst = false;
      const wanted = await this.#wanted(document);
      if (answers && this.#told !== undefined && areEqual(this.#told, wanted)) return this.#note(document);
      await this.#kept.forget();
      await this.#write(wanted);
      if (!answers || this.#told === undefined || needsConfig(this.#told, wanted)) await this.#start(answers);
      else await this.#change(this.#told, wanted);
      this.#seating = wanted.seating;
      this.#told = wanted;
      await this.#kept.keep(wanted);
      this.#note(document);
    } catch (error) {
      this.#told = undefined;
      this.#fault = error instanceof ProxyFault ? error.message : "the proxy could not be told";
      if (!this.#hasWarned)
        this.#options.log.warn({ err: error }, "the proxy of apps does not serve as it should");
      this.#hasWarned = true;
    }
  }

  /** Takes over the proxy of the process before. */
  async #goOn(): Promise<void> {
    const told = await this.#kept.read();
    if (told === undefined) return;
    this.#told = told;
    this.#seating = told.seating;
    this.#traffic.beginWith(await this.#proxy.counts());
    this.#answers.beginWith(countedAnswers(await this.#proxy.table(ANSWERS_TABLE)));
  }

  async #wanted(document: EdgeDocument): Promise<Told> {
    const door = this.#door(document);
    const seating = seated(this.#seating, withOwn(document, door));
    return {
      ...{ seating, seats: await this.#seats.of(seating), routes: routeEntries(seating, document) },
      ...{ ports: portEntries(seating, document), tcp: rangeOf(document) },
      ...{ door, doors: doorEntries(seating), certificate: this.#certified()?.certificate },
    };
  }

  #note({ version }: EdgeDocument): void {
    this.#served = version;
    this.#fault = null;
    this.#hasWarned = false;
  }

  /** Counts requests of one place, or of all. A proxy that does not answer is looked after elsewhere. */
  async #count(place?: string): Promise<void> {
    const counted = await this.#proxy.counts(place).catch(() => undefined);
    if (counted === undefined) return;
    this.#traffic.note(this.#seatNames(), counted);
    if (place !== undefined) return;
    const answers = await this.#proxy.table(ANSWERS_TABLE).catch(() => undefined);
    const known = new Set(this.#document.routes.flatMap(({ id }) => id ?? []));
    if (answers !== undefined) this.#answers.note(countedAnswers(answers), known);
  }

  /** Instances by PLACE/SEAT. */
  #seatNames(): ReadonlyMap<string, EdgeInstance> {
    const seats = (this.#told?.seats ?? []).flatMap((all, at) =>
      all.flatMap(({ instance }, seat) =>
        instance === null ? [] : [[`${placeName(at)}/${seatName(seat)}`, instance] as const],
      ),
    );
    return new Map(seats);
  }

  /**
   * A proxy that does not answer is looked after elsewhere, and a disk that is full keeps none from serving.
   */
  async #readFailures(): Promise<void> {
    const text = await this.#proxy.ring(FAILURES_RING).catch(() => "");
    try {
      await this.#failures.sweep();
      if (text.trim() !== "") await this.#failures.note(text, this.#seatNames());
    } catch (error) {
      this.#options.log.warn({ err: error }, "failures of requests could not be kept");
    }
  }

  async #start(isReload: boolean): Promise<void> {
    // Its counters begin anew.
    if (isReload) {
      await this.#count();
      await this.#readFailures();
    }
    await this.#proxy.start();
    this.#traffic.beginWith(new Map());
    this.#answers.beginWith(new Map());
    this.#options.log.info(
      isReload ? "the proxy of apps has another configuration" : "the proxy of apps is started",
    );
  }

  /** The proxy begins anew with the files where it refuses a command. */
  async #change(before: Told, after: Told): Promise<void> {
    const [seats, leaving] = [seatCommands(before, after), leavingCommands(before, after)];
    // Seats that are given away.
    for (const place of placesOf([...seats, ...leaving])) await this.#count(place);
    try {
      await this.#proxy.command([
        ...placeCommands(before, after),
        ...seats,
        ...mapCommands(this.#files.doors, before.doors, after.doors),
        ...mapCommands(this.#files.ports, before.ports, after.ports),
        ...mapCommands(this.#files.routes, before.routes, after.routes),
      ]);
      await this.#proxy.command(leaving);
    } catch (error) {
      if (!(error instanceof ProxyFault)) throw error;
      await this.#start(true);
    }
  }

  #certified(): Certified | undefined {
    return this.#options.door?.certified();
  }

  /** Undefined: there is no other host, or this one has no certificate yet. */
  #door(document: EdgeDocument): InnerDoor | undefined {
    const peers = peersOf(document);
    const { door } = this.#options;
    if (door === undefined || peers.length === 0 || this.#certified() === undefined) return undefined;
    return { listen: door.listen, peers };
  }

  async #write({ seating, seats, routes, doors, door, ports, tcp }: Told): Promise<void> {
    await this.#options.door?.allow(
      (door?.peers ?? []).flatMap(({ address }) => [
        address,
        ...(tcp === undefined ? [] : [besideDoor(address)]),
      ]),
    );
    const certified = this.#certified();
    if (certified !== undefined) {
      await replaceFile(this.#files.identity, certified.certificate + certified.private_key);
      await replaceFile(this.#files.authority, certified.authority);
    }
    const address = (place: number, seat: number) => {
      const at = seats[place]?.[seat];
      return at?.state === "ready" ? at.address : undefined;
    };
    await replaceMap(this.#files.routes, routes);
    await replaceMap(this.#files.doors, doors);
    await replaceMap(this.#files.ports, ports);
    await replaceFile(this.#files.config, this.#config({ seating, door, tcp }, address));
  }

  #config(
    { seating, door, tcp }: Pick<Told, "seating" | "door" | "tcp">,
    address: ConfigFacts["address"],
  ): string {
    const { uid, listen, perAddress } = this.#options;
    return configOf(seating, { files: this.#files, uid, listen, perAddress, door, tcp, address });
  }

  async #shown(place: number, seats: readonly Seat[]): Promise<EdgeState["instances"]> {
    const { backend = null } = this.#told?.seating[place] ?? {};
    if (backend === null) return [];
    const drains = seats.some(({ state }) => state === "drain");
    const sessions = drains ? await this.#proxy.sessions(placeName(place)).catch(() => undefined) : undefined;
    return seats.flatMap(({ instance, state }, seat) => {
      if (instance === null) return [];
      const { vm, execution_id, port } = instance;
      const status = state === "ready" ? "serving" : instance.state === "draining" ? "draining" : "out";
      return [
        { backend, vm, execution_id, port, status, sessions: sessions?.get(seatName(seat)) ?? 0 } as const,
      ];
    });
  }
}

function rangeOf({ tcp }: EdgeDocument): TcpRange | undefined {
  return tcp && { first: tcp.first, last: tcp.last };
}
