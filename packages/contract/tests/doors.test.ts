// How servers are guarded, with sockets that are none: their addresses are any.

import { EventEmitter } from "node:events";
import type { Server } from "node:net";
import { expect, test, vi } from "vitest";
import { Doors, noteAuthenticated, type CloseReason } from "../src/connections/doors.ts";
import { PressureLog, type Pressure } from "../src/connections/pressure-log.ts";

class FakeSocket extends EventEmitter {
  readonly remoteAddress: string;
  bytesRead = 0;
  isDestroyed = false;

  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }

  destroy(): void {
    this.isDestroyed = true;
    this.emit("close");
  }
}

function guarded(trustedProxies: readonly string[] = []) {
  const closed: (readonly [CloseReason, string])[] = [];
  const doors = new Doors({
    bounds: { perAddress: 2, closable: 100, files: 100, perOwner: 10 },
    firstByteMs: 10_000,
    trustedProxies,
    observer: { count: () => undefined, closed: (...one) => void closed.push(one) },
  });
  const server = new EventEmitter();
  doors.guard(server as Server);
  const open = (address: string): FakeSocket => {
    const socket = new FakeSocket(address);
    server.emit("connection", socket);
    return socket;
  };
  return { open, closed };
}

const destroyed = (sockets: readonly FakeSocket[]) => sockets.map(({ isDestroyed }) => isDestroyed);

test("all addresses of a /64 are one peer, and an IPv4 address is the same in IPv6", () => {
  const { open, closed } = guarded();
  const near = ["2001:db8::1", "2001:db8::2:3", "2001:db8:0:0:ffff::1"].map(open);
  const far = ["2001:db8:0:1::1", "2001:db8:1::1"].map(open);
  const mapped = ["192.0.2.7", "::ffff:192.0.2.7", "192.0.2.7"].map(open);
  expect([destroyed(near), destroyed(far), destroyed(mapped)]).toEqual([
    [true, false, false],
    [false, false],
    [true, false, false],
  ]);
  expect(closed).toEqual([
    ["address", "2001:db8:0:0::/64"],
    ["address", "192.0.2.7"],
  ]);
});

test("a proxy is trusted by its address or its network, however the socket writes it", () => {
  const { open, closed } = guarded(["192.0.2.7", "10.0.0.0/8", "2001:db8::/32"]);
  for (const address of ["192.0.2.7", "::ffff:192.0.2.7", "10.9.9.9", "::ffff:10.9.9.9", "2001:db8:5::1"])
    for (let n = 0; n < 3; n += 1) open(address);
  expect(closed).toEqual([]);
  for (let n = 0; n < 3; n += 1) open("192.0.2.8");
  expect(closed).toEqual([["address", "192.0.2.8"]]);
});

test("without a byte in time a connection is closed, but one of a trusted proxy", () => {
  vi.useFakeTimers();
  try {
    const { open, closed } = guarded(["192.0.2.7"]);
    const [silent, busy, ended] = [open("a"), open("b"), open("c")];
    const proxied = open("192.0.2.7");
    busy.bytesRead = 1;
    ended.destroy();
    vi.advanceTimersByTime(9_000);
    const later = open("d");
    vi.advanceTimersByTime(1_500);
    expect(destroyed([silent, busy, proxied, later])).toEqual([true, false, false, false]);
    vi.advanceTimersByTime(10_000);
    expect(destroyed([busy, proxied, later])).toEqual([false, false, true]);
    expect(closed).toEqual([
      ["first_byte", "a"],
      ["first_byte", "d"],
    ]);
  } finally {
    vi.useRealTimers();
  }
});

test("what a request has authenticated stays, and what is no connection of ours is passed over", () => {
  const { open } = guarded();
  const first = open("a");
  noteAuthenticated(first, "org");
  noteAuthenticated({}, "org");
  expect(destroyed([first, ...["a", "a", "a"].map(open)])).toEqual([false, true, false, false]);
});

test("an operator is told at once, and then once in ten seconds with how many there were", () => {
  vi.useFakeTimers();
  try {
    const told: Pressure[] = [];
    const log = new PressureLog((pressure) => void told.push(pressure));
    for (let n = 0; n < 500; n += 1) log.closed(n % 5 === 0 ? "total" : "address", `address ${n}`);
    log.closed("first_byte", "late");
    expect(told).toEqual([{ address: 0, total: 1, no_room: 0, last_address: "address 0" }]);
    vi.advanceTimersByTime(10_000);
    expect(told.slice(1)).toEqual([{ address: 400, total: 99, no_room: 0, last_address: "address 499" }]);
    vi.advanceTimersByTime(60_000);
    expect(told).toHaveLength(2);
    log.closed("no_room", "again");
    expect(told).toHaveLength(3);
  } finally {
    vi.useRealTimers();
  }
});
