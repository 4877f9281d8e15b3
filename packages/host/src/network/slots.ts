// Network slots. A slot is a namespace of its own with the guest's TAP, one link to this machine, an address pair of the host's range,
// and rules that pass nothing until a policy is loaded. A few are kept ready, so that taking one costs nothing; one that was used is
// removed with everything in it, and its number waits behind all others before it is used again.

import { readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { AddressPair, AddressRange } from "./addresses.ts";
import { baseScript } from "./base-rules.ts";
import { GATEWAY_CIDR, GATEWAY_MAC, TAP, UPLINK } from "./guest-link.ts";
import { ipBatch, loadRules, netnsFileOf, setParameters, startLoadingRules } from "./inside.ts";
import { runProgram, type StartedProgram } from "../run.ts";

const NETNS_FOLDER = "/run/netns";
const LINKS_FOLDER = "/sys/class/net";
const IP_DEADLINE_MS = 10_000;
/** Longer than a sandbox takes to get its rules. */
const REFILL_DELAY_MS = 100;
/** Each is a program that waits: so many of those that are taken next have one. */
const LOADERS = 4;
/** After a failed preparation; the next take tries again at once. */
const REFILL_PAUSE_MS = 5_000;

export interface Slot {
  readonly number: number;
  readonly netns: string;
  readonly netnsFile: string;
  /** Name of this machine's end of the link. */
  readonly link: string;
}

export class SlotsExhausted extends Error {
  override readonly name = "SlotsExhausted";
}

export interface SlotsOptions {
  /** What the namespaces are named after: keeps several hosts on one machine apart. */
  readonly prefix: string;
  /** What the links are named after; with the number it may have 15 characters. */
  readonly linkPrefix: string;
  readonly range: AddressRange;
  /** The program `native/forget.c`. */
  readonly forget: string;
  /** How many are kept ready once `fill` was called. */
  readonly ready: number;
  /** Somebody waits for a VM; slots for later can wait until nobody does. */
  readonly isBusy?: () => boolean;
}

export class Slots {
  readonly #options: SlotsOptions;
  /** In use, being prepared, ready, or being removed. */
  readonly #busy = new Set<number>();
  readonly #ready: number[] = [];
  /** Given back, longest ago first. */
  readonly #returned = new Set<number>();
  #next = 0;
  /** Made, and not opened by their taker yet. */
  readonly #made = new Set<number>();
  /** Started in slots that are ready, and waiting for their first rules. */
  readonly #loaders = new Map<number, StartedProgram>();
  #filling: Promise<void> | undefined;
  #pausedUntilMs = 0;
  #keptReady = 0;

  constructor(options: SlotsOptions) {
    this.#options = options;
  }

  /** How many there can be at once. */
  get capacity(): number {
    return this.#options.range.slots;
  }

  /** None can be taken. */
  get exhausted(): boolean {
    return this.#ready.length === 0 && this.#busy.size >= this.capacity;
  }

  /** How many may be held by those who can do without, when they hold this many: an eighth of all, and fewer where fewer are free. */
  spare(held: number): number {
    const share = Math.floor(this.capacity / 8);
    const free = this.capacity - this.#busy.size + this.#ready.length;
    return Math.max(0, Math.min(share, held + free - share));
  }

  slot(number: number): Slot {
    const { prefix, linkPrefix } = this.#options;
    const netns = `${prefix}-${number}`;
    return { number, netns, netnsFile: netnsFileOf(netns), link: `${linkPrefix}-${number}` };
  }

  /** A ready slot where there is one, otherwise one for which nothing exists yet; `open` makes up for it. */
  take(): Slot {
    const number = this.#ready.shift() ?? this.#unused();
    if (number === undefined) throw new SlotsExhausted(`all ${this.capacity} network slots are taken`);
    this.#busy.add(number);
    this.#refill();
    return this.slot(number);
  }

  /** Marks the slot of a VM that is already running. */
  adopt(number: number): void {
    this.#busy.add(number);
  }

  /** Makes namespace, links and closed rules, unless the slot was kept ready. */
  async open(slot: Slot): Promise<void> {
    if (this.#made.delete(slot.number)) return;
    await make(slot, this.#options.range.pair(slot.number));
  }

  /** Loads rules into a slot that has just been taken, without the time that a program takes to start, if it was a ready one. */
  async loadFirst(slot: Slot, script: string): Promise<void> {
    const loader = this.#takeLoader(slot.number);
    if (loader?.waits === true) await loader.finish(script);
    else await loadRules(script, slot.netns);
  }

  /** Removes the slot with everything in it, and only then frees the number. Nothing there is not an error. */
  async close(slot: Slot): Promise<void> {
    this.#takeLoader(slot.number)?.kill();
    await remove(slot);
    await this.#forgetConnections(slot);
    this.#made.delete(slot.number);
    if (!this.#busy.delete(slot.number)) return;
    this.#returned.add(slot.number);
    this.#refill();
  }

  /** Removes what a killed predecessor left: all of ours whose slot nobody has taken. Resolves with how many there were. */
  async sweep(): Promise<number> {
    const left = [...(await this.#existing())].filter((number) => !this.#busy.has(number));
    for (const number of left) await this.close(this.slot(number));
    return left.length;
  }

  /** From now on some are kept ready, made one after the other in the background. */
  fill(): void {
    this.#keptReady = this.#options.ready;
    this.#refill();
  }

  /** Stops making ready ones. Those that there are stay, and the next host process removes them. */
  async stop(): Promise<void> {
    this.#keptReady = 0;
    await this.#filling;
    for (const number of [...this.#loaders.keys()]) this.#takeLoader(number)?.kill();
  }

  /** Stops, and removes the ready ones. */
  async drain(): Promise<void> {
    await this.stop();
    for (const number of this.#ready.splice(0)) await this.close(this.slot(number));
  }

  /** Those inside the slot ended with it; these are this machine's own, which it translates. */
  async #forgetConnections({ number }: Slot): Promise<void> {
    const { forget, range } = this.#options;
    // A number beyond the range is of a predecessor with a larger one.
    if (number >= this.capacity) return;
    await runProgram(forget, [range.pair(number).slot], { deadlineMs: IP_DEADLINE_MS });
  }

  #takeLoader(number: number): StartedProgram | undefined {
    const loader = this.#loaders.get(number);
    this.#loaders.delete(number);
    return loader;
  }

  #unused(): number | undefined {
    while (this.#next < this.capacity) {
      const number = this.#next;
      this.#next += 1;
      if (!this.#busy.has(number) && !this.#returned.has(number)) return number;
    }
    const [oldest] = this.#returned;
    if (oldest !== undefined) this.#returned.delete(oldest);
    return oldest;
  }

  #refill(): void {
    if (this.#filling !== undefined || Date.now() < this.#pausedUntilMs) return;
    // Whoever has just taken a slot loads rules into it, and the kernel does one such thing at a time.
    this.#filling = sleep(REFILL_DELAY_MS)
      .then(() => {
        this.#startLoaders();
        return this.#makeReady();
      })
      .finally(() => (this.#filling = undefined));
  }

  async #makeReady(): Promise<void> {
    while (this.#ready.length < this.#keptReady) {
      if (this.#options.isBusy?.() === true) {
        await sleep(REFILL_DELAY_MS);
        continue;
      }
      const number = this.#unused();
      if (number === undefined) return;
      this.#busy.add(number);
      const slot = this.slot(number);
      try {
        await make(slot, this.#options.range.pair(number));
      } catch {
        // Whoever needs a slot meets the same failure and reports it.
        this.#pausedUntilMs = Date.now() + REFILL_PAUSE_MS;
        await this.close(slot).catch(() => undefined);
        return;
      }
      this.#made.add(number);
      this.#ready.push(number);
      this.#startLoaders();
    }
  }

  /** In those that are taken next; in none once no more are kept. */
  #startLoaders(): void {
    for (const number of this.#ready.slice(0, Math.min(LOADERS, this.#keptReady))) {
      if (!this.#loaders.has(number)) this.#loaders.set(number, startLoadingRules(this.slot(number).netns));
    }
  }

  async #existing(): Promise<Set<number>> {
    const { prefix, linkPrefix } = this.#options;
    const numbered = (names: readonly string[], start: string): number[] =>
      names
        .filter((name) => name.startsWith(`${start}-`) && /^\d{1,4}$/.test(name.slice(start.length + 1)))
        .map((name) => Number(name.slice(start.length + 1)));
    return new Set([...numbered(await namespaceNames(), prefix), ...numbered(await linkNames(), linkPrefix)]);
  }
}

/** Closed from the first moment: the rules are loaded before a link in it is there or up. */
async function make({ netns, link }: Slot, addresses: AddressPair): Promise<void> {
  await ipBatch([
    `netns add ${netns}`,
    `link add ${link} type veth peer name ${UPLINK} netns ${netns}`,
    `link set ${link} addrgenmode none`,
    `addr add ${addresses.gateway}/${addresses.prefix} dev ${link}`,
    `link set ${link} up`,
  ]);
  await loadRules(baseScript(addresses.slot), netns);
  await setParameters(SLOT_PARAMETERS, netns);
  await ipBatch(
    [
      `tuntap add ${TAP} mode tap vnet_hdr`,
      `link set ${TAP} address ${GATEWAY_MAC}`,
      `addr add ${GATEWAY_CIDR} dev ${TAP}`,
      `addr add ${addresses.slot}/${addresses.prefix} dev ${UPLINK}`,
      `link set ${UPLINK} up`,
      `link set ${TAP} up`,
      `route add default via ${addresses.gateway} dev ${UPLINK}`,
    ],
    netns,
  );
}

const SLOT_PARAMETERS = {
  "net.ipv6.conf.all.disable_ipv6": 1,
  "net.ipv6.conf.default.disable_ipv6": 1,
  "net.ipv4.ip_forward": 1,
  "net.ipv4.conf.all.accept_redirects": 0,
  "net.ipv4.conf.all.send_redirects": 0,
  // Refusals go to the guest that asked for them, and to nobody else.
  "net.ipv4.icmp_ratelimit": 0,
} as const;

/** The link goes first: the kernel takes a namespace apart later, and the name must be free when the number is. */
async function remove(slot: Slot): Promise<void> {
  await ignoringMissing(["link", "del", slot.link], linkNames);
  await ignoringMissing(["netns", "del", slot.netns], namespaceNames);
}

async function ignoringMissing(args: readonly string[], names: () => Promise<string[]>): Promise<void> {
  await runProgram("ip", args, { deadlineMs: IP_DEADLINE_MS }).catch(async (error: unknown) => {
    if ((await names()).includes(args.at(-1) ?? "")) throw error;
  });
}

function namespaceNames(): Promise<string[]> {
  return readdir(NETNS_FOLDER).catch(() => []);
}

function linkNames(): Promise<string[]> {
  return readdir(LINKS_FOLDER).catch(() => []);
}
