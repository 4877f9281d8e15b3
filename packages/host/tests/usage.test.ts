import { expect, test } from "vitest";
import { Value } from "typebox/value";
import { HostUsage } from "@skerry/contract/host-api/host-info";
import { cpuSecondsOf, defaultLinksOf, measureUsage, memoryOf, trafficOf } from "../src/system/usage.ts";

const routes = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	010200C0	0003	0	0	0	00000000	0	0	0
eth0	000200C0	00000000	0001	0	0	0	00FFFFFF	0	0	0
sk1a2b3c-7	006412C6	00000000	0001	0	0	0	FEFFFFFF	0	0	0
half	00000000	00000000	0001	0	0	0	00000080	0	0	0
`;
const routes6 = `fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth2
00000000000000000000000000000000 00 00000000000000000000000000000000 00 fd000000000000000000000000000001 00000400 00000002 00000000 00000003     eth1
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
`;
const devices = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 999 9 0 0 0 0 0 0 999 9 0 0 0 0 0 0
  eth0:1000 1 0 0 0 0 0 0 2000 2 0 0 0 0 0 0
  eth1: 10 1 0 0 0 0 0 0 20 2 0 0 0 0 0 0
sk1a2b3c-7: 5 1 0 0 0 0 0 0 5 2 0 0 0 0 0 0
`;

test("processor time is told in seconds, by what it was spent on", () => {
  expect(cpuSecondsOf("cpu  100 20 30 4000 50 6 7 8 90 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n")).toEqual({
    user: 1.2,
    system: 0.43,
    idle: 40,
    iowait: 0.5,
    steal: 0.08,
  });
});

test("memory is what there is and what could be had", () => {
  const text = "MemTotal:       16384 kB\nMemFree:         1 kB\nMemAvailable:    8192 kB\n";
  expect(memoryOf(text)).toEqual({ memory_bytes: 16_777_216, memory_available_bytes: 8_388_608 });
});

test("traffic is that of the links to the outside, whatever passes to the VMs and within the machine", () => {
  const links = defaultLinksOf(routes, routes6);
  expect([...links]).toEqual(["eth0", "eth1"]);
  expect(trafficOf(devices, links)).toEqual({ network_received_bytes: 1010, network_sent_bytes: 2020 });
});

test("a machine without a way out has no traffic", () => {
  expect(trafficOf(devices, defaultLinksOf("", ""))).toEqual({
    network_received_bytes: 0,
    network_sent_bytes: 0,
  });
});

test("this machine tells of itself what the contract asks for, and its processor time never goes back", async () => {
  const first = await measureUsage("/");
  const second = await measureUsage("/");
  expect(Value.Check(HostUsage, { ...first, warm_pool: { waiting: 0, taken: 0, missed: 0 } })).toBe(true);
  expect(first.memory_available_bytes).toBeLessThan(first.memory_bytes);
  expect(first.disk_free_bytes).toBeLessThan(first.disk_bytes);
  expect(first.cpu_seconds.idle).toBeGreaterThan(0);
  expect(second.cpu_seconds.user).toBeGreaterThanOrEqual(first.cpu_seconds.user);
});
