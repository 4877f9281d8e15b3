import { expect, test } from "vitest";
import type { EgressDenial } from "@skerry/sdk";
import { allowing } from "../src/vm/allow.ts";

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

test.each(["never", "deny_cidr", "rate_limit", "connection_limit"] as const)(
  "%s offers nothing, and says why",
  (rule) => {
    expect(asked(rule)).toEqual({ why: expect.stringMatching(/\.$/) });
  },
);
