import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { AddressRange } from "../src/network/addresses.ts";
import { Slots, SlotsExhausted } from "../src/network/slots.ts";
import { runProgram } from "../src/system/run.ts";
import { buildNative } from "./support/native.ts";
import { testRange, testSlotsOptions } from "./support/network.ts";

const DEADLINE_MS = 20_000;
const native = await buildNative();
const range = AddressRange.parse(testRange().cidr.replace("/24", "/29"));
const [first, second, third] = [0, 1, 2].map((number) => range.pair(number).slot);

afterAll(() => native[Symbol.asyncDispose]());

function run(program: string, args: readonly string[], input = ""): Promise<string> {
  return runProgram(program, args, { deadlineMs: DEADLINE_MS, input });
}

/** Three slots with a program in the place of `forget`: it says for whom it runs, waits at the gate where there is one, fails where it is to
 *  refuse, and says for whom it has run. */
class Stand implements AsyncDisposable {
  readonly folder: string;
  readonly slots: Slots;
  warnings = 0;

  private constructor(folder: string) {
    this.folder = folder;
    const options = testSlotsOptions("c", { ...native, conntrackFlush: join(folder, "conntrack-flush") });
    this.slots = new Slots({ ...options, range, log: { warn: () => void (this.warnings += 1) } });
  }

  static async open(): Promise<Stand> {
    const stand = new Stand(await mkdtemp("/tmp/skerry-unit-connections-"));
    const lines = ["addresses=$(cat)", "echo $addresses >>begun", "[ ! -e gate ] || cat gate"];
    const script = [
      "#!/bin/sh -e",
      `cd ${stand.folder}`,
      ...lines,
      "[ ! -e refuse ]",
      "echo $addresses >>ended\n",
    ].join("\n");
    await writeFile(join(stand.folder, "conntrack-flush"), script, { mode: 0o755 });
    return stand;
  }

  /** The addresses of each run. */
  async runs(which: "begun" | "ended"): Promise<string[][]> {
    const text = await readFile(join(this.folder, which), "utf8").catch(() => "");
    return text
      .split("\n")
      .slice(0, -1)
      .map((line) => line.split(" "));
  }

  async closeGate(): Promise<void> {
    await run("mkfifo", [join(this.folder, "gate")]);
  }

  /** For the run that stands there, and for all others. */
  async openGate(): Promise<void> {
    const gate = join(this.folder, "gate");
    await using opened = await open(gate, "w");
    void opened;
    await rm(gate);
  }

  async namespaces(): Promise<string[]> {
    const names = (await run("ip", ["netns", "list"])).split("\n").map((line) => line.split(" ")[0] ?? "");
    const own = [0, 1, 2].map((number) => this.slots.slot(number).netns);
    return own.filter((name) => names.includes(name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const number of [0, 1, 2]) await this.slots.close(this.slots.slot(number));
    await this.slots.drain();
    expect(await this.namespaces()).toEqual([]);
    await rm(this.folder, { recursive: true });
  }
}

test("a number that was used is made into a slot again when its connections are forgotten, and those that went meanwhile share a run", async () => {
  await using stand = await Stand.open();
  const { slots } = stand;
  const [one, two, three] = [slots.take(), slots.take(), slots.take()];
  await stand.closeGate();
  await slots.close(one);
  expect(slots.exhausted).toBe(false);
  expect(slots.take()).toEqual(one);
  expect(() => slots.take()).toThrow(SlotsExhausted);
  const opened = slots.open(one);
  await expect.poll(() => stand.runs("begun"), { timeout: DEADLINE_MS }).toEqual([[first]]);
  // As long as it takes to make one that nobody had.
  await slots.open(two);
  expect(await stand.namespaces()).toEqual([two.netns]);
  // Without its link nobody can tell whether it was silent.
  await run("ip", ["link", "del", two.link]);
  await slots.close(two);
  await slots.close(three);
  await stand.openGate();
  await opened;
  expect(await stand.namespaces()).toEqual([one.netns]);
  await slots.stop();
  expect(await stand.runs("ended")).toEqual([[first], [second, third]]);
});

test("a number whose connections could not be forgotten is no slot again before they are", async () => {
  await using stand = await Stand.open();
  const { slots } = stand;
  const refuse = join(stand.folder, "refuse");
  const [one] = [slots.take(), slots.take(), slots.take()];
  await writeFile(refuse, "");
  await slots.close(one);
  expect(slots.take()).toEqual(one);
  await expect(slots.open(one)).rejects.toThrow("ended with 1");
  expect(stand.warnings).toBeGreaterThan(0);
  expect(await stand.namespaces()).toEqual([]);
  await slots.close(one);
  await rm(refuse);
  expect(slots.take()).toEqual(one);
  await slots.open(one);
  expect(await stand.namespaces()).toEqual([one.netns]);
  expect(await stand.runs("ended")).toEqual([[first]]);
});

test("connections are forgotten also when nobody waits for it, and after a failure", async () => {
  await using stand = await Stand.open();
  const { slots } = stand;
  const refuse = join(stand.folder, "refuse");
  await writeFile(refuse, "");
  await slots.close(slots.take());
  await expect.poll(() => stand.warnings, { timeout: DEADLINE_MS }).toBeGreaterThan(0);
  await rm(refuse);
  await expect.poll(() => stand.runs("ended"), { timeout: DEADLINE_MS }).toEqual([[first]]);
});

test("a slot out of which nothing has come needs no run, and one out of which something has come does", async () => {
  await using stand = await Stand.open();
  const { slots } = stand;
  const [one] = [slots.take(), slots.take(), slots.take()];
  await writeFile(join(stand.folder, "refuse"), "");
  await slots.open(one);
  await slots.close(one);
  expect(slots.take()).toEqual(one);
  await slots.open(one);
  expect(await stand.runs("begun")).toEqual([]);
  await rm(join(stand.folder, "refuse"));
  await slots.loadFirst(one, "flush ruleset");
  const send = `require("node:dgram").createSocket("udp4").send("x", 9, "${range.pair(0).gateway}", () => process.exit())`;
  await run(native.netnsExec, ["--net", one.netnsFile, "--", process.execPath, "-e", send]);
  await slots.close(one);
  await slots.stop();
  expect(await stand.runs("ended")).toEqual([[first]]);
});

test("a sweep forgets the connections of every number that nobody has, also where a predecessor left nothing else", async () => {
  await using stand = await Stand.open();
  stand.slots.adopt(1);
  expect(await stand.slots.sweep()).toBe(0);
  expect(await stand.runs("ended")).toEqual([[first, third]]);
});

test("the program forgets what any of its addresses has begun, and nothing else", async () => {
  const netns = `unit${process.pid}-f`;
  const inside = ["--net", `/run/netns/${netns}`, "--"];
  const addresses = ["240.0.0.1", "240.0.0.2", "240.0.0.3", "240.0.0.4"];
  const begun = async (): Promise<string[]> => {
    const tracked = await run(native.netnsExec, [...inside, "cat", "/proc/self/net/nf_conntrack"]);
    return addresses.filter((address) => tracked.includes(` src=${address} dst=240.0.0.9 `));
  };
  await run("ip", ["netns", "add", netns]);
  try {
    const lines = [...addresses, "240.0.0.9"].map((address) => `addr add ${address}/32 dev lo`);
    await run("ip", ["-n", netns, "-batch", "-"], [...lines, "link set lo up"].join("\n"));
    const watching = "table ip t { chain c { type filter hook output priority 0; ct state new accept; }; }";
    await run(native.netnsExec, [...inside, "nft", "-f", "-"], watching);
    const sender = `for (const address of process.argv.slice(1)) {
      const socket = require("node:dgram").createSocket("udp4").bind(0, address);
      socket.send("x", 9, "240.0.0.9", () => socket.close());
    }`;
    await run(native.netnsExec, [...inside, process.execPath, "-e", sender, ...addresses]);
    expect(await begun()).toEqual(addresses);
    await run(native.netnsExec, [...inside, native.conntrackFlush], "240.0.0.4\n240.0.0.1\n240.0.0.200\n");
    expect(await begun()).toEqual(["240.0.0.2", "240.0.0.3"]);
    await run(native.netnsExec, [...inside, native.conntrackFlush]);
    expect(await begun()).toEqual(["240.0.0.2", "240.0.0.3"]);
    const refused = run(native.netnsExec, [...inside, native.conntrackFlush], "240.0.0.2\n240.0.0.256\n");
    await expect(refused).rejects.toThrow("conntrack-flush: 240.0.0.256: Invalid argument");
    expect(await begun()).toEqual(["240.0.0.2", "240.0.0.3"]);
  } finally {
    await run("ip", ["netns", "del", netns]);
  }
});
