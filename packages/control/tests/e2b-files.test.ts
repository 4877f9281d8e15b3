// Files of a sandbox through E2B's clients: bytes as they are, paths of users, forms, gzip, watchers.

import { randomBytes, randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import * as oldest from "e2b-2.45";
import * as newest from "e2b-2.51";
import { describe, expect, test } from "vitest";
import { partOf } from "../src/vms/files/byte-range.ts";
import { EventType, Filesystem, FileType } from "../src/e2b/wire/filesystem_pb.js";
import { createE2bSandbox, e2bOptions, headersInto, rpcClient, nativeId } from "./support/e2b.ts";
import { watches } from "./support/fake-files.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
Object.assign(world.host, { memoryMib: 1_000_000, cpus: 1_000 });

const clients = [
  ["2.45.0", oldest],
  ["2.51.0", newest as unknown as typeof oldest],
] as const;

describe.each(clients)("the client %s", (_version, { Sandbox, FileNotFoundError, InvalidArgumentError }) => {
  test("writes files and reads them byte for byte, as text, bytes and a stream", async () => {
    const { files } = await Sandbox.create(e2bOptions(world));
    const bytes = randomBytes(300_000);
    const content = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    const written = await files.write("/tmp/all bytes ü.bin", content);
    expect([written.name, written.path]).toEqual(["all bytes ü.bin", "/tmp/all bytes ü.bin"]);
    expect(Buffer.from(await files.read(written.path, { format: "bytes" }))).toEqual(bytes);
    const stream = await files.read(written.path, { format: "stream" });
    expect(Buffer.from(await new Response(stream).arrayBuffer())).toEqual(bytes);
    const packed = await files.read(written.path, { format: "bytes", gzip: true });
    expect(Buffer.from(packed)).toEqual(bytes);
    await files.write("/tmp/text", "hällo\0\r\n");
    expect(await files.read("/tmp/text")).toBe("hällo\0\r\n");
    await files.write("/tmp/empty", "");
    expect(await files.read("/tmp/empty")).toBe("");
    await files.write("/tmp/packed", "sent packed", { gzip: true });
    expect(await files.read("/tmp/packed")).toBe("sent packed");
    await files.write("/tmp/streamed", new Blob(["from a stream"]).stream(), { useOctetStream: true });
    expect(await files.read("/tmp/streamed")).toBe("from a stream");
    await expect(files.read("/tmp/none")).rejects.toThrow(FileNotFoundError);
  });

  test("writes several files at once, each where it belongs", async () => {
    const { files } = await Sandbox.create(e2bOptions(world));
    const written = await files.write([
      { path: "/work/one.txt", data: "one" },
      { path: "two.txt", data: "two" },
    ]);
    expect(written.map(({ path }) => path)).toEqual(["/work/one.txt", "/root/two.txt"]);
    expect([await files.read("/work/one.txt"), await files.read("~/two.txt")]).toEqual(["one", "two"]);
  });

  test("keeps metadata beside a file, until it is written again", async () => {
    const { files } = await Sandbox.create(e2bOptions(world));
    const metadata = { author: "Ada", "x.y_z": "a b" };
    const written = await files.write("/work/noted", "x", { metadata });
    expect(written.metadata).toEqual(metadata);
    expect(world.host.files.get("/work/noted")?.attributes).toEqual({
      "e2b.author": "Ada",
      "e2b.x.y_z": "a b",
    });
    expect((await files.getInfo("/work/noted")).metadata).toEqual(metadata);
    expect((await files.rename("/work/noted", "/work/moved")).metadata).toEqual(metadata);
    await files.write("/work/moved", "again", { useOctetStream: true });
    expect((await files.getInfo("/work/moved")).metadata).toBeUndefined();
    const two = [
      { path: "/work/1", data: "1" },
      { path: "/work/2", data: "2" },
    ];
    const both = await files.write(two, { metadata: { UPPER: "case" } });
    expect(both.map((one) => one.metadata)).toEqual([{ upper: "case" }, { upper: "case" }]);
  });

  test("watches a directory, and is told what changes there until it stops", async () => {
    const { files } = await Sandbox.create(e2bOptions(world));
    const path = `/kept/${randomUUID()}`;
    const heard: string[] = [];
    const handle = await files.watchDir(path, ({ type, name }) => void heard.push(`${type} ${name}`), {
      recursive: true,
      timeoutMs: 0,
    });
    const changes = ["create", "write", "chmod", "rename", "remove"] as const;
    for (const event of changes) watches.tell(path, { event, path: "src/a.ts", type: "file" });
    watches.tell(path, { event: "overflow", path: "", type: "directory" });
    await eventually(() => heard.length === changes.length, "all was told");
    expect(heard).toEqual(changes.map((event) => `${event} src/a.ts`));
    await handle.stop();
    await eventually(() => watches.count(path) === 0, "nothing is watched any more");
    await expect(files.watchDir("/none", () => undefined)).rejects.toThrow(FileNotFoundError);
  });

  test("makes, finds, moves and removes", async () => {
    const { files } = await Sandbox.create(e2bOptions(world));
    const made = `/work/${randomUUID()}`;
    expect([await files.makeDir(made), await files.makeDir(made)]).toEqual([true, false]);
    await files.write("/work/a", "x");
    const info = await files.getInfo("/work/a");
    expect([info.type, info.size, info.mode, info.permissions, info.owner]).toEqual([
      ...["file", 1, 0o644, "-rw-r--r--", "root"],
    ]);
    expect((await files.rename("/work/a", "/work/b")).path).toBe("/work/b");
    expect([await files.exists("/work/a"), await files.exists("/work/b")]).toEqual([false, true]);
    expect((await files.list("/work")).map(({ path }) => path)).toEqual(["/work/a"]);
    await files.remove("/work/b");
    await files.remove("/work/b");
    expect(await files.exists("/work/b")).toBe(false);
    await expect(files.makeDir("/work/../../etc/\0")).rejects.toThrow(InvalidArgumentError);
  });
});

test("metadata that no file can have is refused, and nothing is written", async () => {
  const sandbox = await createE2bSandbox(world);
  const bad: Record<string, string>[] = [
    { "x-metadata-": "no key" },
    { "x-metadata-a": "no ASCII: \u00fc" },
    { "x-metadata-a": "a\ttab" },
    { [`x-metadata-${"k".repeat(247)}`]: "a key that is too long" },
    { "x-metadata-a": "x".repeat(4_087) },
  ];
  for (const headers of bad) {
    // oxlint-disable-next-line no-await-in-loop
    const answer = await fetch(`${world.url}/e2b/sandbox/files?path=/tmp/never`, {
      ...{ method: "POST", body: "x" },
      headers: { ...headersInto(sandbox), "content-type": "application/octet-stream", ...headers },
    });
    expect(answer.status, JSON.stringify(headers)).toBe(400);
  }
  expect(world.host.files.has("/tmp/never")).toBe(false);
});

test("what is no form, no gzip or broken off leaves no file", async () => {
  const sandbox = await createE2bSandbox(world);
  const post = (type: string, body: Uint8Array, headers: Record<string, string> = {}) =>
    fetch(`${world.url}/e2b/sandbox/files?path=/tmp/never`, {
      method: "POST",
      headers: { ...headersInto(sandbox), "content-type": type, ...headers },
      body: body as Uint8Array<ArrayBuffer>,
    });
  const bytes = "application/octet-stream";
  const form = "multipart/form-data; boundary=x";
  const garbage = Buffer.from("no such thing");
  expect((await post(bytes, garbage, { "content-encoding": "gzip" })).status).toBe(400);
  expect((await post(bytes, garbage, { "content-encoding": "br" })).status).toBe(400);
  expect((await post(form, garbage)).status).toBe(400);
  expect((await post("multipart/form-data", garbage)).status).toBe(400);
  const cut = Buffer.from('--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nhalf');
  expect((await post(form, cut)).status).toBe(400);
  const found = await world.call("GET", "/e2b/sandbox/files?path=/tmp/never", {
    headers: headersInto(sandbox),
  });
  expect([found.status, found.body["code"]]).toEqual([404, 404]);
});

test("an upload of E2B's clients may be larger than a native one, also where it is packed", async () => {
  const sandbox = await createE2bSandbox(world);
  const size = 101_000_000;
  const sent = await fetch(`${world.url}/e2b/sandbox/files?path=/tmp/large`, {
    ...{ method: "POST", body: gzipSync(Buffer.alloc(size)) as Uint8Array<ArrayBuffer> },
    headers: {
      ...headersInto(sandbox),
      ...{ "content-type": "application/octet-stream", "content-encoding": "gzip" },
    },
  });
  expect(sent.status).toBe(200);
  expect(world.host.files.get("/tmp/large")?.size).toBe(size);
});

test("a file is 502 where its sandbox is gone, and only there", async () => {
  const sandbox = await createE2bSandbox(world);
  const call = { headers: headersInto(sandbox) };
  const get = () => world.call("GET", "/e2b/sandbox/files?path=/tmp/there", call);
  expect((await get()).status).toBe(404);
  await world.call("PUT", `/v1/sandboxes/${nativeId(sandbox.sandboxID)}/files/tmp/there`, { body: "x" });
  expect((await get()).status).toBe(200);
  await world.call("DELETE", `/v1/sandboxes/${nativeId(sandbox.sandboxID)}`);
  const gone = await get();
  expect([gone.status, gone.body["code"]]).toEqual([502, 502]);
});

const codeOf = (error: unknown) => (error instanceof ConnectError ? error.code : undefined);

test.each([
  ["binary", true],
  ["JSON", false],
] as const)("the service of files answers in %s", async (_name, isBinary) => {
  const sandbox = await createE2bSandbox(world);
  const client = rpcClient(world, Filesystem, { sandbox, isBinary });
  const work = `/${randomUUID()}`;
  const made = await client.makeDir({ path: work });
  expect([made.entry?.path, made.entry?.type]).toEqual([work, FileType.DIRECTORY]);
  const { entry } = await client.stat({ path: work });
  expect([entry?.permissions, entry?.modifiedTime?.seconds]).toEqual(["drwxr-xr-x", 1_767_225_600n]);
  expect((await client.listDir({ path: work, depth: 3 })).entries.map(({ path }) => path)).toEqual([
    ...[`${work}/3/a`, `${work}/a`],
  ]);
  expect(await client.stat({ path: "/none" }).catch(codeOf)).toBe(Code.NotFound);
  expect(await client.makeDir({ path: work }).catch(codeOf)).toBe(Code.AlreadyExists);
  expect(await client.remove({ path: "" }).catch(codeOf)).toBe(Code.InvalidArgument);
  const path = `/kept/${randomUUID()}`;
  const { watcherId } = await client.createWatcher({ path });
  watches.tell(path, { event: "create", path: "a", type: "file" });
  const told: string[] = [];
  await eventually(async () => {
    const { events } = await client.getWatcherEvents({ watcherId });
    told.push(...events.map(({ name, type }) => `${EventType[type]} ${name}`));
    return told.length > 0;
  }, "the event came");
  expect(told).toEqual(["CREATE a"]);
  const other = rpcClient(world, Filesystem, { sandbox: await createE2bSandbox(world), isBinary });
  expect(await other.getWatcherEvents({ watcherId }).catch(codeOf)).toBe(Code.NotFound);
  await client.removeWatcher({ watcherId });
  await eventually(() => watches.count(path) === 0, "nothing is watched any more");
  expect(await client.getWatcherEvents({ watcherId: "none" }).catch(codeOf)).toBe(Code.NotFound);
});

test("a client whose watcher has lost events is told once, and then gets the newest", async () => {
  const sandbox = await createE2bSandbox(world);
  const client = rpcClient(world, Filesystem, { sandbox });
  const path = `/kept/${randomUUID()}`;
  const { watcherId } = await client.createWatcher({ path });
  const lost: unknown[] = [];
  const names: string[] = [];
  const ask = async () => {
    const { events } = await client.getWatcherEvents({ watcherId }).catch((error: unknown) => {
      lost.push(codeOf(error));
      return { events: [] };
    });
    names.push(...events.map(({ name }) => name));
  };
  // Each time several times what a watcher keeps.
  await eventually(async () => {
    for (let index = 0; index < 50; index++)
      watches.tell(path, { event: "create", path: "x".repeat(50_000), type: "file" });
    await ask();
    return lost.length > 0;
  }, "events were lost");
  watches.tell(path, { event: "create", path: "last", type: "file" });
  await eventually(async () => {
    await ask();
    return names.at(-1) === "last";
  }, "the last event came");
  expect(new Set(lost)).toEqual(new Set([Code.OutOfRange]));
  await client.removeWatcher({ watcherId });
});

// Last: users of the fake host are those of all its sandboxes.
test("a user's files are in its home, and belong to it", async () => {
  const sandbox = await createE2bSandbox(world);
  const call = { headers: headersInto(sandbox) };
  const path = `/v1/sandboxes/${nativeId(sandbox.sandboxID)}/files/etc/passwd`;
  const lines = "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/bash\nbroken\n:::::\n";
  await world.call("PUT", path, { body: lines });
  const written = await world.call("POST", "/e2b/sandbox/files?path=note.txt", {
    ...call,
    headers: { ...call.headers, "content-type": "application/octet-stream" },
    body: "mine",
  });
  expect(written.text).toBe('[{"name":"note.txt","path":"/home/user/note.txt","type":"file"}]');
  expect(world.host.commands.at(-1)?.command).toBe("chown -- 1000:1000 '/home/user/note.txt'");
  const asRoot = await world.call("GET", "/e2b/sandbox/files?path=/home/user/note.txt&username=root", call);
  expect(asRoot.text).toBe("mine");
  const stranger = await world.call("GET", "/e2b/sandbox/files?path=a&username=stranger", call);
  expect([stranger.status, stranger.body["code"]]).toEqual([401, 401]);
});

test("a part of a file is sent alone, and one that the file has not is refused with its size", async () => {
  const sandbox = await createE2bSandbox(world);
  const url = `${world.url}/e2b/sandbox/files?path=/work/letters`;
  const octets = { ...headersInto(sandbox), "content-type": "application/octet-stream" };
  await fetch(url, { method: "POST", headers: octets, body: "abcdefghij" });
  const ask = async (range: string) => {
    const headers = { ...headersInto(sandbox), range };
    const answer = await fetch(url, { headers });
    return [answer.status, answer.headers.get("content-range"), await answer.text()];
  };
  expect(await ask("bytes=2-4")).toEqual([206, "bytes 2-4/10", "cde"]);
  expect(await ask("bytes=7-")).toEqual([206, "bytes 7-9/10", "hij"]);
  expect(await ask("bytes=0-100")).toEqual([206, "bytes 0-9/10", "abcdefghij"]);
  expect(await ask("bytes=-3")).toEqual([206, "bytes 7-9/10", "hij"]);
  expect((await ask("bytes=10-"))[1]).toBe("bytes */10");
  expect((await ask("bytes=-0"))[0]).toBe(416);
  for (const whole of ["bytes=4-2", "bytes=0-1,3-4", "lines=1-2", "bytes=-", "bytes=x-2"])
    expect(await ask(whole), whole).toEqual([200, null, "abcdefghij"]);
});

test("of a large file that comes in pieces each part is whole", async () => {
  const bytes = randomBytes(10_000);
  for (const [first, last] of [
    [0, 0],
    [999, 1_000],
    [1_000, 2_999],
    [9_999, 9_999],
  ] as const) {
    const pieces = Array.from({ length: 10 }, (_, at) => bytes.subarray(at * 1_000, (at + 1) * 1_000));
    const part = partOf(Readable.from(pieces), { first, last });
    expect(Buffer.concat(await part.toArray())).toEqual(bytes.subarray(first, last + 1));
  }
});
