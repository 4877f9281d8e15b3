// Layers in an object store that is not trusted: what comes back is what was put there, or it is refused.

import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { PIECE_BYTES, type StoreLayer } from "@skerry/contract/host-api/stored-layers";
import { newId } from "@skerry/contract/ids";
import { StoredLayers } from "../src/move/stored-layers.ts";
import { openPiece, piecesOf, sealPiece } from "../src/move/sealed-pieces.ts";
import { OwnTemplates } from "../src/templates/own-templates.ts";
import { backingPlaces } from "../src/vm/disk/backing-files.ts";
import { Layers } from "../src/vm/disk/layers.ts";
import { buildNative, type Native } from "./support/native.ts";

/** Three pieces. */
const LAYER_BYTES = 2.5 * PIECE_BYTES;
const never = new AbortController().signal;

let native: Native;
let folder: string;
let server: Server;
let objects: Map<string, Buffer>;
/** Answers in the place of the store. */
let answer: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;

beforeAll(async () => {
  native = await buildNative();
});
afterAll(() => native[Symbol.asyncDispose]());

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-stored-"));
  objects = new Map();
  answer = undefined;
  server = createServer((request, response) => void serve(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true, force: true });
});

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (answer?.(request, response) === true) return;
  const name = request.url ?? "";
  if (request.method === "PUT") objects.set(name, await buffer(request));
  const found = objects.get(name);
  if (found === undefined) response.writeHead(404).end();
  else response.writeHead(200).end(request.method === "GET" ? found : undefined);
}

const urlOf = (index: number): string =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}/${index}`;
const urls = (count: number, first = 0): string[] =>
  Array.from({ length: count }, (_, index) => urlOf(first + index));

interface TestHost {
  readonly stored: StoredLayers;
  readonly layers: Layers;
  readonly own: OwnTemplates;
}

async function host(name: string, withinMs?: number): Promise<TestHost> {
  const places = backingPlaces({ stateFolder: join(folder, name), assetsFolder: join(folder, "assets") });
  const layers = new Layers(places.layers, native.dataRanges);
  const own = await OwnTemplates.open({
    ...{ folder: join(folder, name, "templates"), places, layers, log: pino({ level: "silent" }) },
  });
  const options = { own, layers, library: { images: async () => [] } };
  return {
    layers,
    own,
    stored: new StoredLayers(withinMs === undefined ? options : { ...options, withinMs }),
  };
}

/** A host that has a layer, one that has a template of it without it, and how it is stored. */
async function hosts(
  withinMs?: number,
): Promise<{ from: TestHost; to: TestHost; template: string; order: StoreLayer }> {
  const [from, to] = [await host("from"), await host("to", withinMs)];
  const file = join(folder, "disk");
  await writeFile(file, randomBytes(LAYER_BYTES));
  const layer = await from.layers.keep(from.layers.read(file), LAYER_BYTES);
  const template = newId("template");
  await to.own.put(
    template,
    { image: { layers: [layer], disk_gib: 1 }, env: {}, user: null, workdir: null },
    async ({ layers }) => ({ found: [], missing: layers }),
  );
  const key = randomBytes(32).toString("hex");
  const order = { digest: layer.digest, object: "a".repeat(32), key, first: 0, urls: urls(4) };
  return { from, to, template, order };
}

const fetchOrder = (template: string, { digest, object, key }: StoreLayer, count = 3) => ({
  ...{ template, digest, object, key, urls: urls(count) },
});

test("a layer comes back from the store as it was, and the store has seen nothing of it", async () => {
  const { from, to, template, order } = await hosts();
  expect(await from.stored.store(order, never)).toEqual({ pieces: 3, whole: true });
  expect([...objects.keys()].toSorted()).toEqual(["/0", "/1", "/2"]);
  const plain = await readFile(from.layers.pathOf(order.digest));
  const probe = plain.subarray(PIECE_BYTES / 2, PIECE_BYTES / 2 + 16);
  for (const sealed of objects.values()) expect(sealed.includes(probe)).toBe(false);
  await to.stored.fetch(fetchOrder(template, order), never);
  expect((await readFile(to.layers.pathOf(order.digest))).equals(plain)).toBe(true);
});

test("as many pieces are stored as there are URLs, and the next call goes on behind them", async () => {
  const { from, to, template, order } = await hosts();
  expect(await from.stored.store({ ...order, urls: urls(2) }, never)).toEqual({ pieces: 2, whole: false });
  expect(await from.stored.store({ ...order, first: 2, urls: urls(2, 2) }, never)).toEqual({
    pieces: 3,
    whole: true,
  });
  await to.stored.fetch(fetchOrder(template, order), never);
  await expect(from.stored.store({ ...order, first: 9, urls: urls(1) }, never)).rejects.toMatchObject({
    code: "bad_request",
  });
});

const flip = (name: string, at: number): void => {
  const object = objects.get(name) ?? Buffer.alloc(0);
  object[at] = (object[at] ?? 0) ^ 1;
};
const swap = (one: string, other: string): void => {
  const [first, second] = [objects.get(one), objects.get(other)];
  if (first === undefined || second === undefined) throw new Error("not stored");
  objects.set(one, second).set(other, first);
};

test.each<[string, () => void, number]>([
  ["changes a byte", () => flip("/1", 5_000), 3],
  ["changes the last byte", () => flip("/2", (objects.get("/2")?.length ?? 1) - 1), 3],
  ["exchanges two pieces", () => swap("/0", "/1"), 3],
  ["leaves the last piece out", () => undefined, 2],
  ["has lost one", () => void objects.delete("/1"), 3],
  ["answers with an empty one", () => void objects.set("/1", Buffer.alloc(0)), 3],
  ["answers with a longer one", () => void objects.set("/1", randomBytes(PIECE_BYTES + 100)), 3],
])("a store that %s is found out, and nothing of the layer is there", async (_what, lie, count) => {
  const { from, to, template, order } = await hosts();
  await from.stored.store(order, never);
  lie();
  await expect(to.stored.fetch(fetchOrder(template, order, count), never)).rejects.toMatchObject({
    code: "stored_layer_damaged",
  });
  expect(await readdir(join(folder, "to/layers")).catch(() => [])).toEqual([]);
  await expect(readFile(to.layers.pathOf(order.digest))).rejects.toThrow("ENOENT");
});

test("a layer of another key, of another object, or that is another one after all is refused", async () => {
  const { from, to, template, order } = await hosts();
  await from.stored.store(order, never);
  for (const wrong of [{ key: "0".repeat(64) }, { object: "b".repeat(32) }])
    await expect(to.stored.fetch({ ...fetchOrder(template, order), ...wrong }, never)).rejects.toMatchObject({
      code: "stored_layer_damaged",
    });
  // What a host has sealed that should not have been trusted: it opens, and has another digest.
  const seal = { key: Buffer.from(order.key, "hex"), object: order.object };
  const pieces = piecesOf(from.layers.read(join(folder, "disk")), PIECE_BYTES);
  for await (const { index, bytes, isLast } of pieces) {
    if (index === 1) bytes[8] = (bytes[8] ?? 0) ^ 1;
    objects.set(`/${index}`, sealPiece({ ...seal, index, isLast }, bytes));
  }
  await expect(to.stored.fetch(fetchOrder(template, order), never)).rejects.toMatchObject({
    code: "stored_layer_damaged",
  });
  expect(await readdir(join(folder, "to/layers"))).toEqual([]);
});

test.each<[string, (request: IncomingMessage, response: ServerResponse) => boolean]>([
  ["refuses", (_request, response) => Boolean(response.writeHead(403).end("no"))],
  ["fails", (_request, response) => Boolean(response.writeHead(500).end())],
  ["leads elsewhere", (_request, response) => Boolean(response.writeHead(307, { location: "/0" }).end())],
  ["closes the connection", (request) => Boolean(request.socket.destroy())],
])("a store that %s is not usable, in both directions, and the error tells no URL", async (_what, lie) => {
  const { from, to, template, order } = await hosts();
  await from.stored.store(order, never);
  answer = lie;
  for (const tried of [
    from.stored.store(order, never),
    to.stored.fetch(fetchOrder(template, order), never),
  ]) {
    await expect(tried).rejects.toMatchObject({ code: "object_store_unavailable" });
    await expect(tried).rejects.not.toThrow("127.0.0.1");
  }
});

test("a store that sends byte after byte is given up as one that does not answer is", async () => {
  const { from, to, template, order } = await hosts(200);
  await from.stored.store(order, never);
  const trickles: NodeJS.Timeout[] = [];
  answer = (_request, response) => {
    response.writeHead(200);
    trickles.push(setInterval(() => response.write("x"), 5));
    return true;
  };
  try {
    await expect(to.stored.fetch(fetchOrder(template, order), never)).rejects.toMatchObject({
      code: "object_store_unavailable",
      message: "The object store cannot be used. An object does not come: no progress within 0.2 s.",
    });
  } finally {
    trickles.forEach(clearInterval);
  }
});

test("a call ends with its caller, and the next one has its turn", async () => {
  const { from, order } = await hosts();
  const left = new AbortController();
  answer = () => {
    left.abort();
    return true;
  };
  await expect(from.stored.store(order, left.signal)).rejects.toThrow("abort");
  answer = undefined;
  expect(await from.stored.store(order, never)).toEqual({ pieces: 3, whole: true });
});

test("while the store cannot be used, layers that wait for their turn do not ask it one after the other, and later they do", async () => {
  const { from, to, template, order } = await hosts();
  await from.stored.store(order, never);
  let asked = 0;
  answer = (request) => {
    asked += 1;
    return Boolean(request.socket.destroy());
  };
  const fetched = () => to.stored.fetch(fetchOrder(template, order), never);
  const results = await Promise.allSettled([fetched(), fetched(), fetched()]);
  for (const result of results)
    expect(result).toMatchObject({ status: "rejected", reason: { code: "object_store_unavailable" } });
  expect(asked).toBe(1);
  answer = undefined;
  const laterMs = performance.now() + 10_000;
  using _clock = vi.spyOn(performance, "now").mockImplementation(() => laterMs);
  await fetched();
});

test("a host gets only what a template there lacks, and stores only what it has", async () => {
  const { from, to, template, order } = await hosts();
  await from.stored.store(order, never);
  await expect(to.stored.store(order, never)).rejects.toMatchObject({ code: "layer_missing" });
  for (const wrong of [{ template: newId("template") }, { digest: "f".repeat(64) }])
    await expect(to.stored.fetch({ ...fetchOrder(template, order), ...wrong }, never)).rejects.toMatchObject({
      code: "template_not_found",
    });
});

test("pieces are as long as they should be, and the last one says that it is", async () => {
  const lengthsOf = async (...parts: number[]): Promise<[number, boolean][]> => {
    async function* content(): AsyncGenerator<Buffer> {
      for (const length of parts) yield Buffer.alloc(length);
    }
    const found: [number, boolean][] = [];
    for await (const { bytes, isLast } of piecesOf(content(), 10)) found.push([bytes.length, isLast]);
    return found;
  };
  expect(await lengthsOf(4)).toEqual([[4, true]]);
  expect(await lengthsOf(10)).toEqual([[10, true]]);
  expect(await lengthsOf(10, 1)).toEqual([
    [10, false],
    [1, true],
  ]);
  expect(await lengthsOf(35)).toEqual([
    [10, false],
    [10, false],
    [10, false],
    [5, true],
  ]);
  expect(await lengthsOf()).toEqual([[0, true]]);
});

test("the same piece is never sealed twice in the same way, and opens as what it is alone", () => {
  const seal = { key: randomBytes(32), object: "a".repeat(32), index: 3, isLast: false };
  const [one, other] = [sealPiece(seal, Buffer.from("x")), sealPiece(seal, Buffer.from("x"))];
  expect(one.equals(other)).toBe(false);
  expect(openPiece(seal, one).toString()).toBe("x");
  for (const wrong of [{ index: 4 }, { isLast: true }, { object: "b".repeat(32) }])
    expect(() => openPiece({ ...seal, ...wrong }, one)).toThrow(/authenticate/);
  for (const length of [0, 12, 27]) expect(() => openPiece(seal, one.subarray(0, length))).toThrow(Error);
});
