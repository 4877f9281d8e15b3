import { expect, test } from "vitest";
import { uidsOf } from "../src/vm/record/vm-resources.ts";
import { readConfig } from "../src/config/config.ts";
import { ConfigFault } from "../src/config/settings.ts";

const env = {
  SKERRY_HOST_STATE: "/var/lib/skerry/host",
  SKERRY_NATIVE: "/opt/native",
  SKERRY_TEMPLATES: "/opt/templates",
};

test("what is not set follows from the state folder", () => {
  expect(readConfig(env)).toMatchObject({
    assetsFolder: "/var/lib/skerry/host/assets",
    sharedAssets: false,
    imageCacheFolder: "/var/cache/skerry/images",
    socket: "/var/lib/skerry/host/host.sock",
    vmMemoryMib: undefined,
    logLevel: "info",
    guestKernel: undefined,
    guestDeadlineFactor: 1,
  });
  expect(
    readConfig({ ...env, SKERRY_HOST_ASSETS: "/srv/assets", SKERRY_VM_MEMORY_MIB: "2048" }),
  ).toMatchObject({
    assetsFolder: "/srv/assets",
    sharedAssets: true,
    vmMemoryMib: 2_048,
  });
});

test("images are kept in the folder of the setting, or nowhere", () => {
  expect(readConfig({ ...env, SKERRY_IMAGE_CACHE: "/srv/images" }).imageCacheFolder).toBe("/srv/images");
  expect(readConfig({ ...env, SKERRY_IMAGE_CACHE: "off" }).imageCacheFolder).toBeUndefined();
});

test("two hosts with different folders have different names and user ids, and one host always the same", () => {
  const one = readConfig(env);
  const other = readConfig({ ...env, SKERRY_HOST_STATE: "/srv/other" });
  expect(readConfig(env)).toEqual(one);
  expect(other.instance).not.toBe(one.instance);
  expect(Math.abs(other.firstVmUid - one.firstVmUid)).toBeGreaterThanOrEqual(4_096);
  expect(one.instance).toMatch(/^skerry-[0-9a-f]{6}$/);
  expect(one.firstVmUid + 4_096).toBeLessThan(2 ** 31);
});

test("an empty setting is none, and every fault is told at once", () => {
  expect(readConfig({ ...env, SKERRY_HOST_SOCKET: "", SKERRY_HOST_ASSETS: "" })).toEqual(readConfig(env));
  const faulty = {
    SKERRY_HOST_STATE: "relative",
    SKERRY_TEMPLATES: "/opt/templates",
    SKERRY_HOST_ASSETS: "assets",
    SKERRY_IMAGE_CACHE: "images",
    SKERRY_HOST_SOCKET: "host.sock",
    SKERRY_VM_MEMORY_MIB: "2G",
    SKERRY_HOST_SOCKET_GID: "-1",
    SKERRY_LOG_LEVEL: "loud",
    SKERRY_GUEST_KERNEL: "vmlinux",
    SKERRY_GUEST_DEADLINE_FACTOR: "101",
  };
  expect(() => readConfig(faulty)).toThrow(ConfigFault);
  for (const name of Object.keys(faulty).filter((one) => one !== "SKERRY_TEMPLATES")) {
    expect(() => readConfig(faulty)).toThrow(name);
  }
  expect(() => readConfig(faulty)).toThrow("SKERRY_NATIVE");
});

test("the network has defaults, takes settings, and tells every fault in them", () => {
  const { network } = readConfig(env);
  expect(network).toMatchObject({ range: undefined, resolverPort: 10_053, nameServers: [], readySlots: 16 });
  expect(`${network.linkPrefix}-4094`.length).toBeLessThanOrEqual(15);
  const set = readConfig({
    ...env,
    SKERRY_VM_CIDR: "198.19.255.0/28",
    SKERRY_DNS_SERVERS: "192.0.2.1, 192.0.2.2:5353",
    SKERRY_DNS_PORT: "5300",
    SKERRY_NEVER_CIDRS: "10.9.0.0/16, 203.0.113.7",
    SKERRY_READY_SLOTS: "0",
  }).network;
  expect([set.range?.slots, set.resolverPort, set.readySlots]).toEqual([7, 5_300, 0]);
  expect([network.neverCidrs, set.neverCidrs]).toEqual([[], ["10.9.0.0/16", "203.0.113.7/32"]]);
  expect(set.nameServers.map(({ port }) => port)).toEqual([53, 5_353]);
  const faulty = {
    SKERRY_VM_CIDR: "198.19.255.1/28",
    SKERRY_DNS_SERVERS: "192.0.2.1,dns",
    SKERRY_NEVER_CIDRS: "10.9.0.0/16,10.9.0.1/16",
    SKERRY_DNS_PORT: "70000",
    SKERRY_READY_SLOTS: "9999",
  };
  for (const name of Object.keys(faulty)) expect(() => readConfig({ ...env, ...faulty })).toThrow(name);
  expect(() => readConfig({ ...env, SKERRY_VM_CIDR: "198.19.255.0/31" })).toThrow("SKERRY_VM_CIDR");
});

test("a host is called as its settings say, and is reached where it listens unless they say otherwise", () => {
  expect(readConfig(env)).toMatchObject({ listen: undefined, endpoint: undefined });
  const set = { ...env, SKERRY_HOST_NAME: "rack-7", SKERRY_HOST_LISTEN: "192.0.2.7:7071" };
  const listen = { host: "192.0.2.7", port: 7_071 };
  expect(readConfig(set)).toMatchObject({ name: "rack-7", listen, endpoint: "192.0.2.7:7071" });
  const everywhere = { ...set, SKERRY_HOST_LISTEN: "[::]:7071" };
  expect(readConfig(everywhere)).toMatchObject({ listen: { host: "::", port: 7_071 }, endpoint: undefined });
  expect(readConfig({ ...everywhere, SKERRY_HOST_ADDRESS: "rack-7:7071" }).endpoint).toBe("rack-7:7071");
  for (const wrong of ["7071", "192.0.2.7:70000", "here"])
    expect(() => readConfig({ ...env, SKERRY_HOST_LISTEN: wrong })).toThrow("SKERRY_HOST_LISTEN");
  expect(() => readConfig({ ...env, SKERRY_HOST_NAME: "a b" })).toThrow("SKERRY_HOST_NAME");
});

test("no process of a proxy is taken for one of a VM that is forgotten", () => {
  const { network, nameProxyUid, firstVmUid } = readConfig(env);
  const { first, count } = uidsOf({ firstVmUid });
  for (const uid of [network.edgeUid, nameProxyUid]) expect(uid < first || uid >= first + count).toBe(true);
});
