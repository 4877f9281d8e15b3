import type { HostEgress } from "@skerry/contract/vms/egress";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, expect, test, vi } from "vitest";
import { NAMED_MAX, NamedAddresses, namedMark, opensByName } from "../src/network/named-addresses.ts";
import type { Slot } from "../src/network/slot.ts";

const scripts: string[] = [];
let gate: Promise<void> = Promise.resolve();
vi.mock("../src/network/netns-exec.ts", () => ({
  async loadRules(script: string) {
    scripts.push(script);
    await gate;
  },
}));
beforeEach(() => {
  scripts.length = 0;
  gate = Promise.resolve();
});

const policy: HostEgress = {
  ...{ mode: "deny_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: true },
  allow_domains: ["example.com", "*.example.org"],
};
const guest = "10.0.0.2";
const opening = { guest, mark: namedMark(policy), ttlS: 30 };
const slot = { number: 1 } as unknown as Slot;
const done = (): Promise<void> => Promise.resolve();

async function opened(put: HostEgress = policy): Promise<NamedAddresses> {
  const named = new NamedAddresses("t");
  await named.load(guest, { slot, policy: put }, done);
  return named;
}

test("addresses are opened for as long as they hold and a minute, and those that are open cost nothing", async () => {
  const named = await opened();
  await named.open({ ...opening, addresses: ["192.0.2.1", "192.0.2.2"] });
  expect(scripts).toEqual([
    "add element inet t named { 192.0.2.1, 192.0.2.2 }\n" +
      "delete element inet t named { 192.0.2.1, 192.0.2.2 }\n" +
      "add element inet t named { 192.0.2.1 timeout 90s, 192.0.2.2 timeout 90s }\n",
  ]);
  await named.open({ ...opening, addresses: ["192.0.2.2"] });
  expect(scripts).toHaveLength(1);
  await named.open({ ...opening, ttlS: 300, addresses: ["192.0.2.2"] });
  expect(scripts[1]).toContain("{ 192.0.2.2 timeout 360s }");
});

test("what was allowed by another policy opens nothing, also where it changes meanwhile", async () => {
  const named = await opened();
  await named.open({
    ...opening,
    mark: namedMark({ ...policy, allow_domains: ["x.test"] }),
    addresses: ["192.0.2.1"],
  });
  await named.open({ ...opening, guest: "10.0.0.6", addresses: ["192.0.2.1"] });
  const { promise, resolve } = Promise.withResolvers<void>();
  const changing = named.load(
    guest,
    { slot, policy: { ...policy, allow_domains: ["x.test"] } },
    () => promise,
  );
  const late = named.open({ ...opening, addresses: ["192.0.2.1"] });
  resolve();
  await Promise.all([changing, late]);
  await (await opened({ ...policy, mode: "allow_all" })).open({ ...opening, addresses: ["192.0.2.1"] });
  expect(scripts).toEqual([]);
});

test("what is looked up while its policy is loaded is open once that is in force", async () => {
  const named = await opened();
  const { promise, resolve } = Promise.withResolvers<void>();
  const next = { ...policy, allow_domains: ["x.test"] };
  const changing = named.load(guest, { slot, policy: next }, () => promise);
  const early = named.open({ ...opening, mark: namedMark(next), addresses: ["192.0.2.1"] });
  await sleep(5);
  expect(scripts).toEqual([]);
  resolve();
  await Promise.all([changing, early]);
  expect(scripts).toHaveLength(1);
});

test("of many guests two have addresses opened at a time, each guest in its turn, and a policy waits for none of the others", async () => {
  const named = await opened();
  const others = ["10.0.0.6", "10.0.0.10", "10.0.0.14"];
  for (const other of others) await named.load(other, { slot, policy }, done);
  const { promise, resolve } = Promise.withResolvers<void>();
  gate = promise;
  const all = [guest, ...others].map((each, index) =>
    named.open({ ...opening, guest: each, addresses: [`192.0.2.${index}`] }),
  );
  await vi.waitFor(() => expect(scripts).toHaveLength(2));
  await named.load("10.0.0.14", { slot, policy }, done);
  expect(scripts).toHaveLength(2);
  resolve();
  await Promise.all(all);
  // That of the guest whose policy was loaded meanwhile opens nothing.
  expect(scripts.map((script) => /192\.0\.2\.\d/.exec(script)?.[0])).toEqual([
    "192.0.2.0",
    "192.0.2.1",
    "192.0.2.2",
  ]);
});

test("what is asked for while a program runs goes together with the next one, and what failed is asked for again", async () => {
  const named = await opened();
  const { promise, reject } = Promise.withResolvers<void>();
  gate = promise;
  const first = named.open({ ...opening, addresses: ["192.0.2.1"] });
  await vi.waitFor(() => expect(scripts).toHaveLength(1));
  gate = Promise.resolve();
  const others = [2, 3, 4, 5].map((last) => named.open({ ...opening, addresses: [`192.0.2.${last}`] }));
  reject(new Error("there is no such table"));
  await expect(first).rejects.toThrow("no such table");
  await Promise.all(others);
  expect(scripts).toHaveLength(2);
  expect(scripts[1]).toContain("{ 192.0.2.2, 192.0.2.3, 192.0.2.4, 192.0.2.5 }");
  await named.open({ ...opening, addresses: ["192.0.2.1"] });
  expect(scripts).toHaveLength(3);
});

test("a guest has so many addresses at a time", async () => {
  const named = await opened();
  const all = Array.from({ length: NAMED_MAX + 10 }, (_, index) => `198.51.${index >> 8}.${index & 255}`);
  await named.open({ ...opening, addresses: all });
  await named.open({ ...opening, addresses: ["192.0.2.1"] });
  expect(scripts).toHaveLength(1);
  expect(scripts[0]?.match(/timeout/g)).toHaveLength(NAMED_MAX);
});

test("the mark is that of the lists, in whatever order, and names open nothing where the mode does", () => {
  const reordered = { ...policy, allow_domains: policy.allow_domains?.toReversed() ?? [] };
  expect(namedMark(reordered)).toBe(namedMark(policy));
  expect(namedMark({ ...policy, allow_ports: [22] })).not.toBe(namedMark(policy));
  expect(namedMark({ ...policy, deny_domains: ["a.example.org"] })).not.toBe(namedMark(policy));
  expect(
    [policy, { ...policy, allow_domains: [] }, { ...policy, mode: "allow_all" as const }].map(opensByName),
  ).toEqual([true, false, false]);
});
