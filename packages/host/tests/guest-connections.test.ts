// The machine's table of connections is shared out among the guests that it has room for.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino, type Logger } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CONNECTION_TABLE_FILE, connectionShare } from "@skerry/contract/hosts/connection-share";
import { connectionsPerGuest } from "../src/network/guest-connections.ts";
import { Slots } from "../src/network/slots.ts";
import { runProgram } from "../src/system/run.ts";
import { buildNative } from "./support/native.ts";
import { testSlotsOptions } from "./support/network.ts";

const DEADLINE_MS = 20_000;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-table-");
});
afterAll(() => rm(folder, { recursive: true }));

type Heard = Readonly<Record<string, unknown>>;

function listening(): { readonly log: Logger; readonly heard: Heard[] } {
  const heard: Heard[] = [];
  const write = (line: string) => void heard.push(JSON.parse(line) as Heard);
  return { log: pino({ base: null, timestamp: false }, { write }), heard };
}

/** What a host with this table, memory and number of slots decides, and what it says of it. */
async function decided(table: string | undefined, vmMemoryMib: number, slots = 4_095) {
  const tableFile = join(folder, table === undefined ? "none" : "nf_conntrack_max");
  if (table !== undefined) await writeFile(tableFile, table);
  const { log, heard } = listening();
  const perGuest = await connectionsPerGuest({ vmMemoryMib, slots, tableFile, log });
  return { perGuest, heard };
}

test("however many guests a machine has room for, they leave it a quarter of its table", () => {
  for (const tableMax of [65_536, 131_072, 262_144, 1_048_576]) {
    for (const vmMemoryMib of [0, 256, 2_560, 21_695, 117_965, 471_859]) {
      const { guests, perGuest, needed } = connectionShare({ tableMax, vmMemoryMib, slots: 4_095 });
      expect(perGuest).toBeLessThanOrEqual(1_024);
      if (perGuest > 64) expect(guests * perGuest).toBeLessThanOrEqual((tableMax * 3) / 4);
      expect(connectionShare({ tableMax: needed, vmMemoryMib, slots: 4_095 }).perGuest).toBe(1_024);
    }
  }
});

test("a host whose table is too small for its guests gives each fewer, and says how many and what to do", async () => {
  // A hundred guests with 1,024 connections each are more than a table of 65,536 holds.
  const { perGuest, heard } = await decided("65536\n", 100 * 256);
  expect(perGuest).toBe(491);
  expect(heard).toHaveLength(1);
  expect(heard[0]).toMatchObject({
    level: 40,
    nf_conntrack_max: 65_536,
    guests: 100,
    per_guest: 491,
    needed: 136_534,
  });
  expect(heard[0]?.["msg"]).toContain("sysctl -w net.netfilter.nf_conntrack_max=136534");
});

test("a table that is large enough, or has no end, or is not to be seen, changes nothing", async () => {
  expect(await decided("262144\n", 100 * 256)).toEqual({ perGuest: 1_024, heard: [] });
  expect(await decided("0\n", 100 * 256)).toEqual({ perGuest: 1_024, heard: [] });
  expect(await decided("65536\n", 1_000_000, 40)).toEqual({ perGuest: 1_024, heard: [] });
  const unknown = await decided(undefined, 100 * 256);
  expect([unknown.perGuest, unknown.heard.length]).toEqual([1_024, 1]);
});

test("a tiny table leaves a guest what ordinary programs need, and the host says that it is too small", async () => {
  const { perGuest, heard } = await decided("4096\n", 400 * 256);
  expect([perGuest, heard.length]).toEqual([64, 1]);
});

test("a slot lets its guest have so many connections", async () => {
  await using native = await buildNative();
  const slots = new Slots({ ...testSlotsOptions("n", native), ready: 0, connections: 491 });
  const slot = slots.take();
  try {
    await slots.open(slot);
    const inside = ["--net", slot.netnsFile, "--", "nft", "list", "ruleset"];
    const rules = await runProgram(native.netnsExec, inside, { deadlineMs: DEADLINE_MS });
    expect(rules).toContain("ct count over 491 goto deny_connection_limit");
    // The kernel says how large its table is where the host looks for it, once there are rules.
    const { log, heard } = listening();
    expect(await connectionsPerGuest({ vmMemoryMib: 256, slots: 1, log })).toBeGreaterThanOrEqual(64);
    expect(heard, CONNECTION_TABLE_FILE).toEqual([]);
  } finally {
    await slots.close(slot);
    await slots.drain();
  }
});
