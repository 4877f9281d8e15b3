import { expect, test } from "vitest";
import { connectionsOutcome } from "../src/local/doctor.ts";

test("doctor compares the machine's table of connections with what its guests may have, and says what to do", () => {
  expect(connectionsOutcome(262_144, 100 * 256)).toMatchObject({ verdict: "ok", remedy: "" });
  expect(connectionsOutcome(0, 100 * 256)).toMatchObject({ verdict: "ok" });
  const small = connectionsOutcome(65_536, 100 * 256);
  expect(small.verdict).toBe("warning");
  expect(small.found).toBe("65536 (nf_conntrack_max); each of 100 guests may have 491");
  expect(small.remedy).toContain("sysctl -w net.netfilter.nf_conntrack_max=136534");
});
