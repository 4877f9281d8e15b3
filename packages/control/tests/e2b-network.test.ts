import fc from "fast-check";
import { expect, test } from "vitest";
import { cidrOf, contains, formatCidr } from "@skerry/contract/cidrs";
import { egressRequestOf, networkOf } from "../src/e2b/network.ts";
import { readEgress } from "../src/vms/egress/egress-params.ts";

test("what nothing is said of is left to the organization", () => {
  expect(egressRequestOf(undefined, undefined)).toBeUndefined();
});

test.each([
  [{}, true, { mode: "allow_all", deny_cidrs: [] }],
  [{}, false, { mode: "deny_all", allow_cidrs: [] }],
  [{ denyOut: ["0.0.0.0/0"] }, undefined, { mode: "deny_all", allow_cidrs: [] }],
  [
    { denyOut: ["0.0.0.0/0"], allowOut: ["1.1.1.1"] },
    true,
    { mode: "deny_all", allow_cidrs: ["1.1.1.1/32"] },
  ],
  [{ allowOut: ["8.8.8.0/24"] }, false, { mode: "deny_all", allow_cidrs: ["8.8.8.0/24"] }],
  [{ allowOut: ["8.8.8.8"] }, undefined, { mode: "allow_all", deny_cidrs: [] }],
  [{ denyOut: ["8.8.8.8"] }, undefined, { mode: "allow_all", deny_cidrs: ["8.8.8.8/32"] }],
  [{ denyOut: ["8.8.8.8"], allowOut: ["8.8.8.0/24"] }, undefined, { mode: "allow_all", deny_cidrs: [] }],
  [
    { denyOut: ["8.8.8.0/30"], allowOut: ["8.8.8.1"] },
    undefined,
    { mode: "allow_all", deny_cidrs: ["8.8.8.0/32", "8.8.8.2/31"] },
  ],
  [{ denyOut: ["0.0.0.0/0"], allowOut: ["0.0.0.0/0"] }, undefined, { mode: "allow_all", deny_cidrs: [] }],
] as const)("%j with the internet %j is %j", (network, isInternetAllowed, expected) => {
  expect(egressRequestOf(network, isInternetAllowed)).toEqual(expected);
});

test.each(["exa mple.com", "https://example.com", "::/0", "1.2.3.4/33", "", "1.2.3"])(
  "%j is refused",
  (text) => {
    expect(() => egressRequestOf({ allowOut: [text] }, undefined)).toThrow(/allowOut\[0\]/);
    expect(() => egressRequestOf({ denyOut: [text] }, undefined)).toThrow(/denyOut\[0\]/);
  },
);

const cidr = fc
  .tuple(fc.integer({ min: 0, max: 255 }), fc.integer({ min: 0, max: 32 }))
  .map(([low, prefix]) => {
    const network = cidrOf(`${formatCidr({ address: 0x08080800 + low, prefix: 32 }).split("/")[0] ?? ""}/32`);
    const bits = 2 ** (32 - prefix);
    return formatCidr({ address: Math.floor(network.address / bits) * bits, prefix });
  });

test("an address is reached where it is allowed, or not denied", () => {
  const networks = fc.array(cidr, { maxLength: 6 });
  fc.assert(
    fc.property(networks, networks, fc.integer({ min: 0, max: 255 }), (allowOut, denyOut, low) => {
      const address = { address: 0x08080800 + low, prefix: 32 };
      const holds = (list: readonly string[]) => list.some((text) => contains(cidrOf(text), address));
      const policy = egressRequestOf({ allowOut, denyOut }, undefined);
      const isReached =
        policy?.mode === "deny_all" ? holds(policy.allow_cidrs ?? []) : !holds(policy?.deny_cidrs ?? []);
      expect(isReached).toBe(holds(allowOut) || !holds(denyOut));
    }),
    { numRuns: 500 },
  );
});

test("a domain is allowed where everything else is denied", () => {
  const network = { allowOut: ["api.example.com", "*.example.org", "1.1.1.1"], denyOut: ["0.0.0.0/0"] };
  const request = egressRequestOf(network, undefined);
  expect(request).toEqual({
    mode: "deny_all",
    allow_cidrs: ["1.1.1.1/32"],
    allow_domains: ["api.example.com", "*.example.org"],
  });
  expect(new Set(networkOf(readEgress(request ?? {})).allowOut)).toEqual(
    new Set(["api.example.com", "*.example.org", "1.1.1.1/32"]),
  );
  // Where nothing is denied it changes nothing, and where something else is denied it could not be held.
  const { allowOut } = network;
  expect(egressRequestOf({ allowOut }, undefined)).toEqual({ mode: "allow_all", deny_cidrs: [] });
  expect(() => egressRequestOf({ allowOut, denyOut: ["8.8.8.8"] }, undefined)).toThrow("0.0.0.0/0");
  expect(() => egressRequestOf({ denyOut: ["api.example.com"] }, undefined)).toThrow("denyOut[0]");
});

test("a policy is shown as what asks for it", () => {
  for (const network of [{ denyOut: ["0.0.0.0/0"], allowOut: ["1.1.1.1/32"] }, { denyOut: ["8.8.8.8/32"] }]) {
    const request = egressRequestOf(network, undefined);
    expect(networkOf(readEgress(request ?? {}))).toEqual({ allowOut: [], ...network });
  }
});
