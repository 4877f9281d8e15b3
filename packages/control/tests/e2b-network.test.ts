import fc from "fast-check";
import { expect, test } from "vitest";
import { cidrOf, contains, formatCidr } from "@skerry/contract/cidrs";
import { egressRequestOf, networkOf } from "../src/e2b/network.ts";
import { readEgress } from "../src/vms/egress/egress-params.ts";

test.each([undefined, {}, { allowPublicTraffic: false }, { allowOut: [], denyOut: [] }])(
  "%j asks for nothing, so the organization's default holds",
  (network) => {
    expect(egressRequestOf(network, undefined)).toBeUndefined();
  },
);

test("what allowed networks leave of denied ones is bounded, and computed only up to the bound", () => {
  const half = Array.from({ length: 1_000 }, () => "0.0.0.0/1");
  const spread = Array.from({ length: 1_000 }, (_, index) =>
    formatCidr({ address: index * 2 ** 21, prefix: 32 }),
  );
  const refused = () => egressRequestOf({ denyOut: half, allowOut: spread }, undefined);
  expect(refused).toThrow("more than 1000 networks");
  expect(refused).toThrow('deny "0.0.0.0/0"');
  expect(egressRequestOf({ denyOut: [...half, "8.8.8.8", "9.0.0.0/8"] }, undefined)).toEqual({
    mode: "allow_all",
    deny_cidrs: ["0.0.0.0/1"],
  });
  const apart = Array.from({ length: 1_000 }, (_, index) => formatCidr({ address: index * 2, prefix: 32 }));
  expect(egressRequestOf({ denyOut: apart }, undefined)?.deny_cidrs).toEqual(apart);
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
    new Set(["api.example.com", "*.example.org", "1.1.1.1"]),
  );
  // Where nothing is denied it would change nothing, and where something else is denied it could not be held.
  const { allowOut } = network;
  for (const denyOut of [undefined, ["8.8.8.8"]])
    expect(() => egressRequestOf({ allowOut, ...(denyOut && { denyOut }) }, undefined)).toThrow(
      'add "0.0.0.0/0" to "denyOut"',
    );
  expect(() => egressRequestOf({ allowOut }, true)).toThrow('add "0.0.0.0/0" to "denyOut"');
  expect(() => egressRequestOf({ denyOut: ["api.example.com"] }, undefined)).toThrow("denyOut[0]");
});

test("headers that name a secret are rules of a policy, and are shown as they were asked for", () => {
  const rules = { "api.example.com": [{ transform: { headers: { Authorization: "Bearer {API_KEY}" } } }] };
  const network = { allowOut: ["api.example.com"], denyOut: ["0.0.0.0/0"], rules };
  const request = egressRequestOf(network, undefined);
  expect(request?.inject).toEqual([
    { host: "api.example.com", header: "Authorization", secret: "API_KEY", format: "Bearer {}" },
  ]);
  expect(networkOf(readEgress(request ?? {}))).toMatchObject(network);
  expect(egressRequestOf({ rules }, undefined)).toEqual({ inject: request?.inject });
  for (const text of ["sk-plain-text", "{A}{B}", "{}", "{not a name}"]) {
    const plain = { "api.example.com": [{ transform: { headers: { a: text } } }] };
    expect(() => egressRequestOf({ rules: plain }, undefined)).toThrow("has to name one secret");
  }
});

test("a policy is shown as what asks for it", () => {
  for (const network of [
    { denyOut: ["0.0.0.0/0"], allowOut: ["1.1.1.1", "9.0.0.0/8"] },
    { denyOut: ["8.8.8.8"] },
  ]) {
    const request = egressRequestOf(network, undefined);
    expect(networkOf(readEgress(request ?? {}))).toEqual({ allowOut: [], ...network });
  }
});
