// Which connections are closed when there are too many, decided without a socket.

import { expect, test } from "vitest";
import {
  ConnectionTable,
  type ConnectionBounds,
  type ConnectionState,
  type Held,
} from "../src/connections/connection-table.ts";
import { ORGANIZATION_FORWARDS_MAX } from "../src/bounds.ts";
import { FORWARD_STREAMS_MAX } from "../src/vms/forward.ts";
import { connectionBounds, fileLimit, SERVICE_FILES } from "../src/connections/file-limit.ts";

const wide: ConnectionBounds = { perAddress: 1_000, closable: 1_000, files: 10_000, perOwner: 1_000 };

/** A table of connections that are their names, and what it has closed. */
function tableOf(bounds: Partial<ConnectionBounds>) {
  const closed: string[] = [];
  const counts: Record<ConnectionState, number> = { silent: 0, visitor: 0, authenticated: 0 };
  const table = new ConnectionTable<string>(
    { ...wide, ...bounds },
    {
      evict: ({ connection }, reason) => void closed.push(`${connection}: ${reason}`),
      count: (state, change) => void (counts[state] += change),
    },
  );
  const open = (name: string, address: string, isTrustedProxy = false): Held<string> => {
    const held = table.open(name, { neighbourhood: address, isTrustedProxy });
    if (held === undefined) throw new Error(`${name} was refused`);
    return held;
  };
  return { table, open, closed, counts };
}

test("beyond the bound of an address its oldest silent connection makes room, and no other address loses any", () => {
  const { open, closed, counts } = tableOf({ perAddress: 2 });
  open("other", "b");
  for (const name of ["first", "second", "third", "fourth"]) open(name, "a");
  expect(closed).toEqual(["first: address", "second: address"]);
  expect(counts).toEqual({ silent: 3, visitor: 0, authenticated: 0 });
});

test("beyond the bound of all the address with the most loses its oldest, and of equal ones the one that came first", () => {
  const { open, closed } = tableOf({ closable: 4 });
  open("b1", "b");
  for (const name of ["a1", "a2", "a3"]) open(name, "a");
  for (const address of ["c", "d", "e", "f"]) open(`${address}1`, address);
  expect(closed).toEqual(["a1: total", "a2: total", "b1: total", "c1: total"]);
});

test("an authenticated connection is never closed for others, and what is beyond the bound of the others is its reserve", () => {
  const { table, open, closed, counts } = tableOf({ perAddress: 2, closable: 3, files: 9 });
  for (const name of ["one", "two"]) table.authenticated(open(name, "a"), "org");
  for (let n = 0; n < 20; n += 1) open(`silent ${n}`, `address ${n}`);
  for (let n = 0; n < 20; n += 1) open(`same ${n}`, "a");
  expect(closed.filter((one) => /^(one|two):/.test(one))).toEqual([]);
  expect(counts).toEqual({ silent: 3, visitor: 0, authenticated: 2 });
  // Each one may need a file more: it takes the place of silent ones.
  table.authenticated(open("three", "a"), "org");
  table.authenticated(open("four", "a"), "org");
  expect(counts).toEqual({ silent: 1, visitor: 0, authenticated: 4 });
});

test("where nothing may be closed, a new connection is refused", () => {
  const { table, open, closed } = tableOf({ files: 4 });
  for (const name of ["one", "two"]) table.authenticated(open(name, "a"), "org");
  expect(table.open("three", { neighbourhood: "b", isTrustedProxy: false })).toBeUndefined();
  expect(closed).toEqual(["three: no_room"]);
});

test("connections of a trusted proxy have no bound of an address, and go when no stranger's is left", () => {
  const { open, closed } = tableOf({ perAddress: 2, closable: 7 });
  for (let n = 0; n < 5; n += 1) open(`proxy ${n}`, "p", true);
  for (const name of ["a1", "a2", "a3"]) open(name, "a");
  expect(closed).toEqual(["a1: address"]);
  for (let n = 5; n < 8; n += 1) open(`proxy ${n}`, "p", true);
  expect(closed.slice(1)).toEqual(["a2: total", "a3: total", "proxy 0: total"]);
});

test("a visitor's connection is protected from silent ones while its request runs, and silent again afterwards", () => {
  const { table, open, closed, counts } = tableOf({ perAddress: 1, closable: 3 });
  const visitors = ["one", "two"].map((name) => {
    const held = open(name, "a");
    table.visiting(held);
    return held;
  });
  expect(counts).toEqual({ silent: 0, visitor: 2, authenticated: 0 });
  for (let n = 0; n < 4; n += 1) open(`silent ${n}`, `address ${n}`);
  expect(closed).toEqual(["silent 0: total", "silent 1: total", "silent 2: total"]);
  for (const held of visitors) table.visited(held);
  // The bound of their address is for silent ones, which they are by now.
  expect(closed.slice(3)).toEqual(["one: address"]);
  expect(counts).toEqual({ silent: 2, visitor: 0, authenticated: 0 });
});

test("requests of a visitor that overlap on one connection protect it until the last has ended", () => {
  const { table, open, counts } = tableOf({});
  const held = open("one", "a");
  table.visiting(held);
  table.visiting(held);
  table.visited(held);
  expect(counts.visitor).toBe(1);
  table.visited(held);
  expect(counts).toEqual({ silent: 1, visitor: 0, authenticated: 0 });
});

test("visitors that fill all are closed for new connections, which would otherwise be shut out", () => {
  const { table, open, closed } = tableOf({ closable: 3 });
  for (const [name, address] of [
    ["a1", "a"],
    ["b1", "b"],
    ["b2", "b"],
  ] as const)
    table.visiting(open(name, address));
  open("new", "c");
  expect(closed).toEqual(["b1: total"]);
});

test("beyond an owner's share its oldest connections may be closed, after all silent ones", () => {
  const { table, open, closed } = tableOf({ perOwner: 2, files: 9, closable: 4 });
  for (const name of ["one", "two", "three", "four"]) table.authenticated(open(name, "a"), "org");
  open("silent", "b");
  open("another", "c");
  expect(closed).toEqual(["silent: total"]);
  table.authenticated(open("other", "c"), "org 2");
  expect(closed.slice(1)).toEqual(["another: total", "one: total"]);
});

test("a connection that has ended makes room, once, and nothing that is said of it later counts", () => {
  const { table, open, closed, counts } = tableOf({ perAddress: 1 });
  const held = open("one", "a");
  table.close(held);
  table.close(held);
  table.authenticated(held, "org");
  table.visiting(held);
  table.visited(held);
  open("two", "a");
  expect(closed).toEqual([]);
  expect(counts).toEqual({ silent: 1, visitor: 0, authenticated: 0 });
});

/** What the table does, said again without its lists. */
test("after any 20,000 steps no bound is exceeded and no authenticated connection was closed", () => {
  const bounds = { perAddress: 5, closable: 40, files: 90, perOwner: 1_000 };
  const open = new Map<number, Held<number>>();
  const closed: Held<number>[] = [];
  const table = new ConnectionTable<number>(bounds, {
    evict: (held) => {
      open.delete(held.connection);
      closed.push(held);
    },
    count: () => undefined,
  });
  let seed = 7;
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  for (let step = 0; step < 20_000; step += 1) {
    const some = [...open.values()][random(Math.max(1, open.size))];
    const deed = random(8);
    if (deed < 5 || some === undefined) {
      const held = table.open(step, { neighbourhood: `${random(12)}`, isTrustedProxy: random(30) === 0 });
      if (held !== undefined) open.set(step, held);
    } else if (deed === 5) table.authenticated(some, `${random(3)}`);
    else if (deed === 6) {
      table.close(some);
      open.delete(some.connection);
    } else if (some.visits === 0) table.visiting(some);
    else table.visited(some);
    const now = [...open.values()];
    const silent = now.filter(({ state, peer }) => state === "silent" && !peer.isTrustedProxy);
    const most = Math.max(
      0,
      ...Object.values(Object.groupBy(silent, ({ peer }) => peer.neighbourhood)).map((of) => of?.length ?? 0),
    );
    expect(most).toBeLessThanOrEqual(bounds.perAddress);
    expect(now.filter(({ state }) => state !== "authenticated").length).toBeLessThanOrEqual(bounds.closable);
    expect(now.reduce((sum, { state }) => sum + (state === "silent" ? 1 : 2), 0)).toBeLessThanOrEqual(
      bounds.files,
    );
  }
  expect(closed.length).toBeGreaterThan(1_000);
  expect(closed.filter(({ state }) => state === "authenticated")).toEqual([]);
});

test("a process takes as many connections as its files allow, and leaves some for all else", () => {
  const limits = (soft: string) =>
    `Max processes 95 95 processes\nMax open files            ${soft}  524288  files\n`;
  expect([fileLimit(limits("20000")), fileLimit(limits("unlimited")), fileLimit("")]).toEqual([
    20_000, 65_536, 1_024,
  ]);
  expect(fileLimit()).toBeGreaterThan(0);
  expect(connectionBounds(20_000)).toEqual({
    perAddress: 512,
    closable: 15_200,
    files: 19_000,
    perOwner: 2_375,
  });
  expect(connectionBounds(1_024, 9)).toEqual({ perAddress: 9, closable: 614, files: 768, perOwner: 96 });
  expect(connectionBounds(300).files).toBe(150);
  expect(connectionBounds(524_288).closable).toBe(16_384);
});

test("the servers may open files for all connections and for all forwards of an organization", () => {
  const forwarded = ORGANIZATION_FORWARDS_MAX * FORWARD_STREAMS_MAX;
  const { files } = connectionBounds(SERVICE_FILES);
  expect(forwarded).toBe(16_384);
  expect(files).toBe(connectionBounds(Number.MAX_SAFE_INTEGER).files);
  expect(SERVICE_FILES).toBeGreaterThan(files + forwarded);
});
