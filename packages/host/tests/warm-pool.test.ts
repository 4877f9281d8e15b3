// Who gets which clone, and which must go, with clones that are made of nothing.

import { pino, type Logger } from "pino";
import { afterEach, expect, test, vi } from "vitest";
import { sizes, type Size } from "@skerry/contract/sizes";
import type { WarmVm } from "../src/vm/warm/warm-clones.ts";
import { openLog } from "../src/system/log.ts";
import { WarmPool } from "../src/vm/warm/warm-pool.ts";

const [size] = sizes as readonly [Size, ...Size[]];

class FakeClones {
  readonly made: WarmVm[] = [];
  readonly removed: WarmVm[] = [];
  /** Ends a clone as a QEMU that is killed does. */
  readonly end = new Map<WarmVm, () => void>();

  async make(template: string): Promise<WarmVm> {
    const ended = Promise.withResolvers<void>();
    const connection = { closed: ended.promise, close: () => undefined };
    // The pool looks at nothing else of a clone.
    const vm = {
      record: { id: `warm_${this.made.length}`, template },
      live: { qmp: connection, channel: connection },
    } as unknown as WarmVm;
    this.made.push(vm);
    this.end.set(vm, ended.resolve);
    return vm;
  }

  async remove(vm: WarmVm): Promise<void> {
    this.removed.push(vm);
  }
}

let stopping: WarmPool | undefined;
afterEach(async () => {
  await stopping?.stop();
});

interface PoolOptions {
  readonly max: number;
  readonly min: number;
  readonly memoryMib: () => number;
  readonly log?: Logger;
}

function poolOf(clones: FakeClones, limits: PoolOptions): WarmPool {
  const pool = new WarmPool({
    clones,
    log: limits.log ?? pino({ level: "silent" }),
    ...{ max: limits.max, min: limits.min, favorite: { template: "base", size } },
    memoryMib: async () => limits.memoryMib(),
    spareSlots: () => 1_000,
    isBusy: () => false,
  });
  stopping = pool;
  pool.start();
  return pool;
}

const plenty = (): number => 1_000_000;

test("of a thousand that ask at once each gets a clone of its own, or none", async () => {
  const clones = new FakeClones();
  const pool = poolOf(clones, { max: 3, min: 3, memoryMib: plenty });
  await vi.waitFor(() => expect(pool.size).toBe(3), 20_000);
  const taken = await Promise.all(Array.from({ length: 1_000 }, async () => pool.take("base", size)));
  const got = taken.filter((vm) => vm !== undefined);
  expect(got).toHaveLength(3);
  expect(new Set(got).size).toBe(3);
  expect(pool.counts).toEqual({ waiting: 0, taken: 3, missed: 997 });
  await vi.waitFor(() => expect(pool.size).toBe(3), 20_000);
  const next = pool.take("base", size);
  expect(got).not.toContain(next);
  expect(clones.removed).toEqual([]);
});

test("why no clone can be made is in the log once, however often it is tried", async () => {
  const clones = new FakeClones();
  let tries = 0;
  const make = async (): Promise<WarmVm> => {
    tries += 1;
    throw new Error(tries < 3 ? "no room" : "no QEMU");
  };
  const logged: string[] = [];
  const log = openLog("warn", { write: (line: string) => void logged.push(line) });
  poolOf(Object.assign(clones, { make }), { max: 1, min: 1, memoryMib: plenty, log });
  await vi.waitFor(() => expect(tries).toBe(3), 60_000);
  expect(logged.map((line) => /no room|no QEMU/.exec(line)?.[0])).toEqual(["no room", "no QEMU"]);
});

test("a clone that ends while it waits goes to nobody and is replaced", async () => {
  const clones = new FakeClones();
  const pool = poolOf(clones, { max: 2, min: 2, memoryMib: plenty });
  await vi.waitFor(() => expect(pool.size).toBe(2), 20_000);
  const [first] = clones.made;
  if (first === undefined) throw new Error("no clone was made");
  clones.end.get(first)?.();
  await vi.waitFor(() => expect(clones.removed).toEqual([first]), 20_000);
  await vi.waitFor(() => expect(pool.size).toBe(2), 20_000);
  expect([pool.take("base", size), pool.take("base", size)]).not.toContain(first);
});

test("a clone that ends after it was taken is its owner's, and the pool leaves it alone", async () => {
  const clones = new FakeClones();
  const pool = poolOf(clones, { max: 1, min: 1, memoryMib: plenty });
  await vi.waitFor(() => expect(pool.size).toBe(1), 20_000);
  const taken = pool.take("base", size);
  if (taken === undefined) throw new Error("no clone waited");
  clones.end.get(taken)?.();
  await vi.waitFor(() => expect(pool.size).toBe(1), 20_000);
  expect(clones.removed).toEqual([]);
});

test("when memory gets short the clones that wait go, and none is made until there is memory again", async () => {
  const clones = new FakeClones();
  let memoryMib = plenty();
  const pool = poolOf(clones, { max: 4, min: 4, memoryMib: () => memoryMib });
  await vi.waitFor(() => expect(pool.size).toBe(4), 20_000);
  memoryMib = 0;
  const taken = pool.take("base", size); // it looks again when somebody has asked
  await vi.waitFor(() => expect(pool.size).toBe(0), 20_000);
  expect(clones.removed).toHaveLength(3);
  expect(clones.removed).not.toContain(taken);
  expect(clones.made).toHaveLength(4);
  memoryMib = plenty();
  pool.take("base", size);
  await vi.waitFor(() => expect(pool.size).toBe(4), 20_000);
});

test("a VM that needs what waiting clones hold gets it: the rarest kind goes first", async () => {
  const clones = new FakeClones();
  const pool = poolOf(clones, { max: 2, min: 1, memoryMib: plenty });
  pool.take("rare", size);
  for (let n = 0; n < 3; n += 1) pool.take("base", size);
  await vi.waitFor(() => expect(pool.size).toBe(3), 20_000);
  await pool.giveUp(1);
  expect(clones.removed.map(({ record }) => record.template)).toEqual(["rare"]);
});
