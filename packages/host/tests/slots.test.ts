import { readdir, readFile } from "node:fs/promises";
import { afterAll, expect, test } from "vitest";
import { AddressRange } from "../src/network/addresses.ts";
import { GATEWAY_CIDR, TAP, UPLINK } from "../src/network/guest-link.ts";
import { Slots, SlotsExhausted } from "../src/network/slots.ts";
import { runProgram } from "../src/system/run.ts";
import { buildNative } from "./support/native.ts";
import { testRange, testSlotsOptions } from "./support/network.ts";

const DEADLINE_MS = 10_000;
const native = await buildNative();
const options = testSlotsOptions("s", native);
const { prefix, linkPrefix } = options;
const few = { ...options, range: AddressRange.parse(testRange().cidr.replace("/24", "/29")) };

async function namesIn(folder: string, start: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [] as string[]);
  return names.filter((name) => name.startsWith(start)).sort();
}
const namespaces = (): Promise<string[]> => namesIn("/run/netns", prefix);
const links = (): Promise<string[]> => namesIn("/sys/class/net", linkPrefix);

function ip(netns: string, ...args: string[]): Promise<string> {
  return runProgram("ip", ["-n", netns, ...args], { deadlineMs: DEADLINE_MS });
}

afterAll(async () => {
  await native[Symbol.asyncDispose]();
  for (const name of await links())
    await runProgram("ip", ["link", "del", name], { deadlineMs: DEADLINE_MS });
  for (const name of await namespaces())
    await runProgram("ip", ["netns", "del", name], { deadlineMs: DEADLINE_MS });
});

test("no slot is handed out twice, and never one that is adopted", () => {
  const slots = new Slots(options);
  slots.adopt(1);
  expect([slots.take(), slots.take(), slots.take()].map(({ number }) => number)).toEqual([0, 2, 3]);
});

test("a host without a free slot says so, and one that was given back can be taken again", async () => {
  const slots = new Slots(few);
  const all = [slots.take(), slots.take(), slots.take()];
  expect(() => slots.take()).toThrow(SlotsExhausted);
  await slots.close(slots.slot(1));
  await slots.close(slots.slot(0));
  expect(all.map(({ number }) => number)).toEqual([0, 1, 2]);
  // The one that was given back first is used first: it has rested longest.
  expect([slots.take(), slots.take()].map(({ number }) => number)).toEqual([1, 0]);
  expect(() => slots.take()).toThrow(SlotsExhausted);
});

test("an opened slot has a TAP and one link to the machine; closed, nothing of it is left", async () => {
  const slots = new Slots(options);
  const slot = slots.take();
  const { gateway, slot: own } = options.range.pair(slot.number);
  await slots.open(slot);
  const found = JSON.parse(await ip(slot.netns, "-j", "link", "show")) as {
    ifname: string;
    flags: string[];
  }[];
  const up = new Map(found.map(({ ifname, flags }) => [ifname, flags.includes("UP")]));
  expect(Object.fromEntries(up)).toEqual({ lo: false, [TAP]: true, [UPLINK]: true });
  expect(await ip(slot.netns, "-o", "-4", "addr", "show", TAP)).toContain(GATEWAY_CIDR);
  expect(await ip(slot.netns, "-o", "-4", "addr", "show", UPLINK)).toContain(`${own}/31`);
  expect(await ip(slot.netns, "-6", "addr", "show")).toBe("");
  expect(await ip(slot.netns, "route", "show", "default")).toContain(`via ${gateway} dev ${UPLINK}`);
  expect(await links()).toEqual([slot.link]);
  await slots.close(slot);
  expect([await namespaces(), await links()]).toEqual([[], []]);
});

test("closing a slot that was never opened, or is closed, is no error and frees it once", async () => {
  const slots = new Slots(few);
  const slot = slots.take();
  await slots.close(slot);
  await slots.close(slot);
  const numbers = [slots.take(), slots.take(), slots.take()].map(({ number }) => number);
  expect(numbers.sort((one, other) => one - other)).toEqual([0, 1, 2]);
});

test("a sweep removes what a killed predecessor left, and nothing that is taken or another host's", async () => {
  const before = new Slots(options);
  const other = new Slots({
    ...options,
    prefix: `${prefix}x`,
    linkPrefix: `${linkPrefix}x`,
    range: testRange(1),
  });
  const all = [before.take(), before.take(), before.take()];
  for (const slot of all) await before.open(slot);
  await other.open(other.take());
  const after = new Slots(options);
  after.adopt(1);
  expect(await after.sweep()).toBe(2);
  expect(await namespaces()).toEqual([`${prefix}-1`, `${prefix}x-0`]);
  expect(await links()).toEqual([`${linkPrefix}-1`, `${linkPrefix}x-0`]);
  expect(await after.sweep()).toBe(0);
  await other.close(other.slot(0));
  await after.close(after.slot(1));
  expect([await namespaces(), await links()]).toEqual([[], []]);
});

test("a slot that a sweep cannot remove is given to no VM, and the others go all the same", async () => {
  const before = new Slots(options);
  const all = [before.take(), before.take(), before.take()];
  for (const slot of all) await before.open(slot);
  const stuck = options.range.pair(1).slot;
  let isStuck = true;
  const after = new Slots({
    ...options,
    onClose: async (address) => {
      if (isStuck && address === stuck) throw new Error("it stays");
    },
  });
  expect(await after.sweep()).toBe(2);
  expect(await namespaces()).toEqual([`${prefix}-1`]);
  expect([after.take(), after.take()].map(({ number }) => number)).toEqual([0, 2]);
  isStuck = false;
  await after.close(after.slot(1));
  expect([await namespaces(), await links()]).toEqual([[], []]);
});

test("slots are kept ready, taken without waiting, and replaced; drained, none is left", async () => {
  const slots = new Slots(options);
  slots.fill();
  await expect.poll(async () => (await namespaces()).length, { timeout: DEADLINE_MS }).toBe(2);
  await slots.stop();
  const slot = slots.take();
  expect(await namespaces()).toContain(slot.netns);
  await slots.open(slot);
  expect((await namespaces()).length).toBe(2);
  slots.fill();
  await expect.poll(async () => (await namespaces()).length, { timeout: DEADLINE_MS }).toBe(3);
  await slots.drain();
  await slots.close(slot);
  expect([await namespaces(), await links()]).toEqual([[], []]);
});

test("the first rules of a ready slot are loaded by a program that waits there, or by another where that one was killed", async () => {
  const slots = new Slots(options);
  /** The `nft` in a namespace that is ready: nothing else is begun in it after its route. */
  const program = async (netns: string): Promise<string> => {
    if ((await ip(netns, "route", "show", "default").catch(() => "")) === "") return "not ready";
    const pids = (await runProgram("ip", ["netns", "pids", netns], { deadlineMs: DEADLINE_MS })).split("\n");
    const names = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/comm`, "utf8").catch(() => "")));
    return pids.filter((_, index) => names[index] === "nft\n").join(" ");
  };
  slots.fill();
  const [first, second] = [slots.slot(0), slots.slot(1)];
  for (const { netns } of [first, second]) {
    await expect.poll(() => program(netns), { timeout: DEADLINE_MS }).toMatch(/^\d+$/);
  }
  process.kill(Number(await program(second.netns)), "SIGKILL");
  await expect.poll(() => program(second.netns), { timeout: DEADLINE_MS }).toBe("");
  for (const slot of [slots.take(), slots.take()]) {
    await slots.open(slot);
    await slots.loadFirst(slot, "create table inet loaded");
    const loaded = await runProgram(
      slot.netnsExec,
      ["--net", slot.netnsFile, "--", "nft", "list", "table", "inet", "loaded"],
      { deadlineMs: DEADLINE_MS },
    );
    expect(loaded).toContain("table inet loaded");
    await expect(slots.loadFirst(slot, "create table inet loaded")).rejects.toThrow("exists");
    expect(await program(slot.netns)).toBe("");
  }
  await slots.drain();
  for (const slot of [first, second]) await slots.close(slot);
  expect([await namespaces(), await links()]).toEqual([[], []]);
});
