import { expect, test } from "vitest";
import { AddressRange, defaultRanges } from "../src/network/addresses.ts";
import { addressesIn, formatIpv4, parseIpv4, parseNetwork, type Ipv4Network } from "../src/network/ipv4.ts";
import { parseServer, serversIn } from "../src/network/name-servers.ts";

test("addresses and networks are read strictly", () => {
  expect(parseIpv4("198.18.0.1")).toBe(0xc6_12_00_01);
  expect(formatIpv4(0xff_ff_ff_fe)).toBe("255.255.255.254");
  for (const text of ["", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.4 ", "::1", "0x7f.0.0.1"]) {
    expect([text, parseIpv4(text)]).toEqual([text, undefined]);
  }
  expect(parseNetwork("10.0.0.0/8")).toEqual({ base: 0x0a_00_00_00, prefix: 8 });
  for (const text of ["10.0.0.0", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0.0/08"]) {
    expect([text, parseNetwork(text)]).toEqual([text, undefined]);
  }
});

test("no two slots of a range share an address, and none has the resolver's", () => {
  const range = AddressRange.parse("198.18.32.0/24");
  expect([range.slots, range.resolver]).toEqual([127, "198.18.32.1"]);
  const all = Array.from({ length: range.slots }, (_, number) => range.pair(number));
  const addresses = [range.resolver, ...all.flatMap(({ gateway, slot }) => [gateway, slot])];
  expect(new Set(addresses).size).toBe(addresses.length);
  expect(all[0]).toEqual({ gateway: "198.18.32.2", slot: "198.18.32.3", prefix: 31 });
  expect(all.at(-1)?.slot).toBe("198.18.32.255");
  expect(() => range.pair(127)).toThrow(RangeError);
});

test("default ranges do not overlap, and a host begins at a place of its own", () => {
  const ranges = defaultRanges(5);
  expect(ranges.map(({ cidr }) => cidr).slice(0, 2)).toEqual(["198.18.160.0/19", "198.18.192.0/19"]);
  expect(ranges[0]?.slots).toBe(4_094);
  for (const one of ranges) {
    for (const other of ranges) expect(overlap(one.network, other.network)).toBe(one === other);
  }
});

test("name servers are read from a list and from the system's configuration", () => {
  expect(parseServer("192.0.2.1")).toEqual({ address: "192.0.2.1", port: 53 });
  expect(parseServer("192.0.2.1:5353")).toEqual({ address: "192.0.2.1", port: 5_353 });
  expect(parseServer("2001:db8::1")).toEqual({ address: "2001:db8::1", port: 53 });
  expect(parseServer("[2001:db8::1]:5353")).toEqual({ address: "2001:db8::1", port: 5_353 });
  for (const text of ["", "dns.example", "192.0.2.1:0", "192.0.2.1:70000", "[192.0.2.1]:53"]) {
    expect([text, parseServer(text)]).toEqual([text, undefined]);
  }
  const text =
    "# nameserver 192.0.2.9\nsearch example\nnameserver 192.0.2.1\n nameserver 2001:db8::1\nnameserver x\n";
  expect(serversIn(text).map(({ address }) => address)).toEqual(["192.0.2.1", "2001:db8::1"]);
});

function overlap(one: Ipv4Network, other: Ipv4Network): boolean {
  return one.base < other.base + addressesIn(other.prefix) && other.base < one.base + addressesIn(one.prefix);
}
