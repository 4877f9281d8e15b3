import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { afterEach, expect, test } from "vitest";
import { openHostNetwork, RangeTaken, removeHostNetwork } from "../src/network/host-network.ts";
import { runProgram } from "../src/system/run.ts";
import { testRootNameProxy } from "./support/names.ts";
import { testEdgeUid, testRange } from "./support/network.ts";
import { pino } from "pino";

const log = pino({ level: "silent" });
const id = `${process.pid.toString(16)}`;
const options = (name: string) => ({
  table: `skerry_unit_${id}${name}`,
  linkPrefix: `u${id}${name}`,
  range: testRange(3),
  seed: 0,
  resolverPort: 10_053,
  nameProxy: testRootNameProxy,
  edgeUid: testEdgeUid,
  edgePeers: [],
  log,
});
const [one, other] = [options("a"), options("b")];

afterEach(async () => {
  await removeHostNetwork(one);
  await removeHostNetwork(other);
});

const tables = (): Promise<string> => runProgram("nft", ["list", "tables"], { deadlineMs: 10_000 });
const claims = (): string[] =>
  Object.keys(networkInterfaces()).filter((name) => name.startsWith(`lo:u${id}`));

test("a host claims its range once, finds it again after a restart, and gives it back whole", async () => {
  expect((await openHostNetwork(one)).cidr).toBe(testRange(3).cidr);
  expect((await openHostNetwork(one)).cidr).toBe(testRange(3).cidr);
  expect(claims()).toEqual([`lo:${one.linkPrefix}`]);
  expect(await tables()).toContain(one.table);
  await removeHostNetwork(one);
  expect([claims(), (await tables()).includes(one.table)]).toEqual([[], false]);
});

test("two hosts on one machine never have the same range, and where it is asked for the second one refuses", async () => {
  await openHostNetwork(one);
  await expect(openHostNetwork(other)).rejects.toThrow(RangeTaken);
  expect(claims()).toEqual([`lo:${one.linkPrefix}`]);
  await removeHostNetwork(one);
  const free = { range: undefined, seed: 11 };
  const first = await openHostNetwork({ ...one, ...free });
  const second = await openHostNetwork({ ...other, ...free });
  expect(second.cidr).not.toBe(first.cidr);
  expect((await openHostNetwork({ ...other, ...free })).cidr).toBe(second.cidr);
});

test("who writes to a connection that the other process has closed is told: packets of closed sockets have no user, and pass", async () => {
  await openHostNetwork(one);
  const server = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [connection] = (await accepted) as [Socket];
  client.destroy();
  await once(connection.resume(), "end");
  const told = once(connection, "error");
  const writing = setInterval(() => connection.write("is answered with a reset, which no process sends"), 20);
  expect((await told)[0]).toMatchObject({ code: expect.stringMatching(/^(EPIPE|ECONNRESET)$/) });
  clearInterval(writing);
  server.close();
});
