import { expect, test } from "vitest";
import type { EgressDenial } from "@skerry/sdk";
import { allowing, policyOf } from "../src/vm/allow.ts";

const policy = {
  mode: "deny_all",
  allow_cidrs: ["203.0.113.0/24"],
  deny_cidrs: [],
  allow_ports: [443],
  dns: false,
} as const;

function denied(rule: EgressDenial["rule"]): EgressDenial {
  return {
    address: "192.0.2.7",
    port: 80,
    protocol: "tcp",
    rule,
    count: 1,
    last_at: "2026-11-20T16:22:00.000Z",
  };
}

const asked = (rule: EgressDenial["rule"]) =>
  allowing(denied(rule), {
    ...policy,
    allow_cidrs: [...policy.allow_cidrs],
    allow_ports: [443],
    deny_cidrs: [],
  });

test("what no allowed network names gets its address, and its port where ports are bounded", () => {
  for (const rule of ["deny_all", "private_network"] as const)
    expect(asked(rule)).toMatchObject({
      policy: { mode: "deny_all", allow_cidrs: ["203.0.113.0/24", "192.0.2.7/32"], allow_ports: [443, 80] },
      changes: ["192.0.2.7/32", "port 80"],
    });
});

test("a refused port is allowed for the networks that are, and the names alone where names were refused", () => {
  expect(asked("port")).toMatchObject({ changes: ["port 80"], policy: { allow_cidrs: ["203.0.113.0/24"] } });
  expect(asked("dns")).toMatchObject({ changes: ["dns"], policy: { ...policy, dns: true } });
});

test("a refused name is allowed as a name, and no change loses the domains that there are", () => {
  const named = { ...policy, allow_cidrs: [], allow_ports: [], deny_cidrs: [], allow_domains: ["a.example"] };
  const denial = { ...denied("domain"), address: "", domain: "b.example", port: 443 };
  expect(allowing(denial, named)).toMatchObject({
    policy: { mode: "deny_all", allow_domains: ["a.example", "b.example"] },
    changes: ["b.example"],
  });
  const whole = policyOf({
    ...{ ...named, deny_domains: ["c.example"], denied: [], version: 3 },
    counters: { bytes_in: 0, bytes_out: 0, packets_in: 0, packets_out: 0 },
  });
  expect(allowing(denied("deny_all"), whole)).toMatchObject({
    policy: { allow_domains: ["a.example"], deny_domains: ["c.example"], allow_cidrs: ["192.0.2.7/32"] },
  });
});

test.each(["never", "deny_cidr", "deny_domain", "no_domain", "rate_limit", "connection_limit"] as const)(
  "%s offers nothing, and says why",
  (rule) => {
    expect(asked(rule)).toEqual({ why: expect.stringMatching(/\.$/) });
  },
);
