// Two real proxies that pass requests on to each other, as those of two hosts do.

import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { request, type IncomingMessage } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { pino } from "pino";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { newId } from "@skerry/contract/ids";
import { CONTROL_URI, hostUri } from "@skerry/contract/joining/host-certificate";
import type { EdgeDocument, EdgeInstance } from "@skerry/contract/host-api/edge";
import type { Certified } from "../src/config/identity.ts";
import { Edge } from "../src/edge/edge.ts";
import { newCertifier } from "./support/certified.ts";
import { endInstances, freePort, instance, until, upgraded } from "./support/edge-instances.ts";
import { testEdgeUids } from "./support/network.ts";

const certifier = newCertifier();

/** The proxy of one host, with instances that are servers of this machine. */
class Side {
  readonly id = newId("host");
  readonly listen: string;
  readonly door: string;
  readonly failing = new Set<string>();
  certified: Certified = certifier(hostUri(this.id));
  allowed: readonly string[] = [];
  edge!: Edge;
  readonly #folder: string;
  readonly #stop = new AbortController();
  #watching: Promise<void> | undefined;

  private constructor(folder: string, ports: readonly number[]) {
    this.#folder = folder;
    this.listen = `127.0.0.1:${ports[0]}`;
    this.door = `127.0.0.1:${ports[1]}`;
  }

  static async open(uid: number): Promise<Side> {
    const folder = await mkdtemp(join(tmpdir(), "skerry-unit-edges-"));
    const side = new Side(folder, [await freePort(), await freePort()]);
    side.edge = await Edge.open({
      ...{ folder, listen: side.listen, perAddress: 400, uid, log: pino({ level: "silent" }) },
      door: {
        ...{ listen: side.door, certified: () => side.certified },
        allow: (peers) => {
          side.allowed = peers;
          return Promise.resolve();
        },
      },
      cgroup: () => Promise.resolve(undefined),
      vms: {
        addressOf: () => "127.0.0.1",
        publish: () => Promise.resolve(),
        isFailing: ({ vm }) => side.failing.has(vm),
      },
    });
    side.#watching = side.edge.watch(side.#stop.signal);
    return side;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#watching;
    await this.edge.end();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

let [here, there]: Side[] = [];
let version = 0;

beforeEach(async () => {
  const [one, other] = testEdgeUids;
  here = await Side.open(one);
  there = await Side.open(other);
});
afterEach(async () => {
  await Promise.all([here?.close(), there?.close()]);
});
afterAll(endInstances);

type Backend = EdgeDocument["backends"][number];

/** Tells a side what it has of the backend `web`, and how many instances the other one has. */
async function tell(
  side: Side | undefined,
  instances: readonly EdgeInstance[],
  elsewhere: number,
  more: Partial<Backend> = {},
) {
  const [self, other] = side === here ? [here, there] : [there, here];
  if (self === undefined || other === undefined) throw new Error("there is no such side");
  const web = { id: "app_1:web:http", protocol: "http" as const, instances: [...instances], ...more };
  const state = await self.edge.apply({
    version: (version += 1),
    backends: [{ ...web, ...(elsewhere > 0 && { elsewhere: { [other.id]: elsewhere } }) }],
    routes: [{ host: "shop.localhost", path_prefix: "/", backend: web.id }],
    peers: { [other.id]: other.door },
  });
  expect(state.fault).toBeNull();
  return state;
}

interface Seen {
  readonly status: number;
  readonly vm?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function ask(
  side: Side | undefined,
  headers: Readonly<Record<string, string>> = {},
): Promise<Seen & { readonly cookies: readonly string[] }> {
  const [host, port] = side?.listen.split(":") ?? [];
  const call = request({ host, port, agent: false, headers: { host: "shop.localhost", ...headers } }).end();
  const [answer] = (await once(call, "response")) as [IncomingMessage];
  const body = await text(answer);
  const seen = body === "" ? {} : (JSON.parse(body) as object);
  return { status: answer.statusCode ?? 0, cookies: answer.headers["set-cookie"] ?? [], ...seen };
}

const many = async (side: Side | undefined, count: number): Promise<Seen[]> => {
  const seen: Seen[] = [];
  while (seen.length < count) seen.push(await ask(side));
  return seen;
};
const names = (seen: readonly Seen[]) =>
  [...new Set(seen.map(({ vm = "none" }) => vm))].toSorted((a, b) => (a < b ? -1 : 1));

test("a host without an instance passes requests on, with what tells of the client and nothing of ours", async () => {
  const far = await instance("vm_far");
  await tell(there, [far], 0);
  await tell(here, [], 1);
  const seen = await ask(here, {
    "x-forwarded-for": "6.6.6.6",
    "x-skerry-passed": "1",
    "x-skerry-backend": "app_2",
  });
  expect(seen).toMatchObject({ status: 200, vm: "vm_far" });
  expect(seen.headers).toMatchObject({
    "x-forwarded-for": "127.0.0.1",
    "x-forwarded-host": "shop.localhost",
  });
  expect(Object.keys(seen.headers ?? {}).filter((name) => name.startsWith("x-skerry"))).toEqual([]);
  expect(here?.allowed).toEqual([there?.door]);
  // Its own clients are served without a detour.
  expect(await ask(there)).toMatchObject({ vm: "vm_far" });
  const { echo } = await upgraded(here?.listen ?? "", "shop.localhost");
  expect(await echo("over both")).toBe("over both");
});

test("requests are spread over instances of both hosts, and weights change without a reload", async () => {
  const [near, far] = [await instance("vm_near"), await instance("vm_far")];
  await tell(there, [far], 1);
  await tell(here, [near], 1);
  expect(names(await many(here, 8))).toEqual(["vm_far", "vm_near"]);
  await tell(here, [near], 0);
  expect(names(await many(here, 8))).toEqual(["vm_near"]);
});

test("a request for a host whose instances have just gone is passed back, and not for ever", async () => {
  const near = await instance("vm_near");
  await tell(here, [near], 1);
  // The other host has learnt it first.
  await tell(there, [{ ...near, state: "draining", vm: "vm_gone" }], 1);
  expect(new Set((await many(here, 8)).map(({ status }) => status))).toEqual(new Set([200]));
  // Each believes in the other one.
  await tell(here, [], 1);
  expect((await ask(here)).status).toBe(503);
});

test("instances whose checks fail serve where no host has a better one", async () => {
  const [near, far] = [await instance("vm_near"), await instance("vm_far")];
  here?.failing.add("vm_near");
  await tell(there, [far], 1);
  await tell(here, [near], 1);
  expect(names(await many(here, 6))).toEqual(["vm_far"]);
  there?.failing.add("vm_far");
  await tell(there, [far], 1);
  expect(new Set((await many(here, 6)).map(({ status }) => status))).toEqual(new Set([200]));
});

test("a client with a cookie stays at its instance on the other host", async () => {
  const [one, other] = [await instance("vm_1"), await instance("vm_2")];
  await tell(there, [one, other], 0, { sticky: true });
  await tell(here, [], 2, { sticky: true });
  const first = await ask(here);
  const cookie = first.cookies.map((each) => each.split(";")[0]).join("; ");
  expect(first.cookies).toHaveLength(2);
  for (let count = 0; count < 5; count += 1) expect((await ask(here, { cookie })).vm).toBe(first.vm);
});

test("HTTP/2 goes on as such", async () => {
  const { createServer } = await import("node:http2");
  const server = createServer((_, answer) => void answer.end("h2")).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const far = { vm: "vm_far", execution_id: "exe_1", port, state: "serving" as const };
  await tell(there, [far], 0, { protocol: "h2" });
  await tell(here, [], 1, { protocol: "h2" });
  const client = connectHttp2(`http://${here?.listen}`);
  const call = client.request({ ":path": "/", ":authority": "shop.localhost" });
  expect(await text(call)).toBe("h2");
  client.destroy();
  server.close();
});

test("no client comes in without the certificate of a host", async () => {
  await tell(there, [await instance("vm_far")], 0);
  const [host, port] = there?.door.split(":") ?? [];
  const answerFor = async (certified?: Certified): Promise<string> => {
    const credentials = certified && { key: certified.private_key, cert: certified.certificate };
    const socket = connectTls({ host, port: Number(port), rejectUnauthorized: false, ...credentials });
    socket.on("error", () => undefined);
    socket.write(
      "GET / HTTP/1.1\r\nhost: shop.localhost\r\nx-skerry-backend: app_1:web:http\r\nconnection: close\r\n\r\n",
    );
    return (await text(socket).catch(() => "")).slice(0, 12);
  };
  expect(await answerFor()).toBe("");
  expect(await answerFor(newCertifier()(hostUri(newId("host"))))).toBe("");
  expect(await answerFor(certifier(CONTROL_URI))).toBe("");
  expect(await answerFor(here?.certified)).toBe("HTTP/1.1 200");
});

test("another host at the address of a peer gets no request", async () => {
  await tell(there, [await instance("vm_far")], 0);
  if (there !== undefined) there.certified = certifier(hostUri(newId("host")));
  await tell(here, [], 1);
  await until("the other one shows another name", async () => (await ask(here)).status === 503);
});

test("a new certificate is taken without a request that fails", async () => {
  await tell(there, [await instance("vm_far")], 0);
  await tell(here, [], 1);
  if (there !== undefined) there.certified = certifier(hostUri(there.id));
  const seen: Seen[] = [];
  for (let count = 0; count < 300; count += 1) seen.push(await ask(here));
  expect(new Set(seen.map(({ status }) => status))).toEqual(new Set([200]));
});

test("connections that are not HTTP are passed on too, and only hosts of the cluster can do it", async () => {
  if (here === undefined || there === undefined) throw new Error("there are no sides");
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.write("there\n");
    socket.pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const port = await freePort();
  const db = { id: "app_1:db:tcp", protocol: "tcp" as const };
  const own = {
    ...{ vm: "there", execution_id: "exe_1", state: "serving" as const },
    port: (server.address() as AddressInfo).port,
  };
  const document = (self: Side, other: Side, listens: number) => ({
    ...{ version: (version += 1), routes: [], peers: { [other.id]: other.door } },
    backends: [
      self === there ? { ...db, instances: [own] } : { ...db, instances: [], elsewhere: { [other.id]: 1 } },
    ],
    tcp: { first: listens, last: listens, ports: [{ port: listens, backend: db.id }] },
  });
  expect((await there.edge.apply(document(there, here, await freePort()))).fault).toBeNull();
  expect((await here.edge.apply(document(here, there, port))).fault).toBeNull();
  expect(here.allowed).toHaveLength(2);
  let said = "";
  const socket = connect(port, "127.0.0.1").setEncoding("utf8");
  socket.on("error", () => undefined).on("data", (piece: string) => void (said += piece));
  await until("the other host's instance has spoken", () => said === "there\n");
  socket.write("echo\n");
  await until("it hears", () => said === "there\necho\n");
  socket.destroy();
  // Without a certificate nothing is said.
  const [name, door = ""] = there.door.split(":");
  const stranger = connectTls({
    ...{ host: name, port: Number(door) + 1, rejectUnauthorized: false },
    servername: db.id,
  });
  let heard = "";
  stranger.on("data", (piece: Buffer) => void (heard += piece.toString()));
  stranger.on("error", () => undefined);
  await new Promise((resolve) => stranger.once("close", resolve));
  expect(heard).toBe("");
  server.close();
});
