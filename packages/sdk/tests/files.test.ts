import { createHash, randomBytes } from "node:crypto";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { Skerry, SkerryConnectionError, SkerryInputError, SkerryTooLargeError } from "../src/skerry.ts";
import { directoryPath, filePath, vmPath } from "../src/http/paths.ts";
import { ScriptedServer, sendJson } from "./support/scripted-server.ts";

function client(server: ScriptedServer): Skerry {
  return new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

test("each segment of a path is encoded once, so that every name a file can have arrives", () => {
  const names = [
    "with space",
    "100%",
    "a#b",
    "what?",
    "é€😀",
    "a%2Fb",
    "back\\slash",
    "a+b&c=d",
    "...",
    ".hidden",
  ];
  for (const name of names) {
    const encoded = filePath("/v1/sandboxes/sbx_0", `/root/${name}`);
    const url = new URL(`http://host${encoded}`);
    expect([url.search, url.hash]).toEqual(["", ""]);
    expect(decodeURIComponent(url.pathname)).toBe(`/v1/sandboxes/sbx_0/files/root/${name}`);
  }
});

test("empty and dot segments say nothing; the root is a directory", () => {
  expect(filePath("/v1/sandboxes/sbx_0", "//a/./b")).toBe("/v1/sandboxes/sbx_0/files/a/b");
  expect(directoryPath("/v1/sandboxes/sbx_0", "/")).toBe("/v1/sandboxes/sbx_0/files/");
  expect(directoryPath("/v1/sandboxes/sbx_0", "/a/")).toBe("/v1/sandboxes/sbx_0/files/a");
});

test("a path or an id that could reach another part of the API is refused", () => {
  for (const path of ["relative", "", "/a/../b", "/..", "/a/", "/\uD800"])
    expect(() => filePath("/v1/sandboxes/sbx_0", path), path).toThrow(SkerryInputError);
  for (const id of ["", ".", ".."]) expect(() => vmPath("/v1/sandboxes", id), id).toThrow(SkerryInputError);
  expect(filePath(vmPath("/v1/machines", "a/b?c"), "/d")).toBe("/v1/machines/a%2Fb%3Fc/files/d");
});

test("uploads send the exact bytes, whatever they come in", async () => {
  await using server = await ScriptedServer.start((response, request) =>
    sendJson(response, 200, { path: "/tmp/x", size: request.body.length }),
  );
  // Neither a whole number of pieces, nor the beginning of its buffer.
  const bytes = new Uint8Array(randomBytes(2_500_000)).subarray(1);
  const contents = { bytes, blob: new Blob([bytes]), stream: new Blob([bytes]).stream() };
  for (const content of Object.values(contents)) {
    const written = await client(server).sandboxes.upload("sbx_0", "/tmp/x", content, { mode: "0755" });
    expect(written).toEqual({ path: "/tmp/x", size: bytes.length });
    expect(sha256(server.last.body)).toBe(sha256(bytes));
    expect(server.last).toMatchObject({ method: "PUT", url: "/v1/sandboxes/sbx_0/files/tmp/x?mode=0755" });
    expect(server.last.headers["content-type"]).toBe("application/octet-stream");
  }
  await client(server).sandboxes.upload("sbx_0", "/tmp/x", "é");
  expect([server.last.body.toString(), server.last.url]).toEqual(["é", "/v1/sandboxes/sbx_0/files/tmp/x"]);
});

test("what is no content of a file, and what are no permissions, is refused before anything is sent", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, {}));
  const { sandboxes } = client(server);
  for (const wrong of [{ a: 1 }, [1], 7, null, undefined, new Date()]) {
    const upload = sandboxes.upload("sbx_0", "/x", wrong as never);
    await expect(upload).rejects.toThrow(SkerryInputError);
    await expect(upload).rejects.toMatchObject({ remediation: expect.stringContaining("JSON.stringify") });
  }
  for (const mode of ["rwx", "0888", "", 0o644]) {
    const upload = sandboxes.upload("sbx_0", "/x", "x", { mode: mode as string });
    await expect(upload, String(mode)).rejects.toThrow(SkerryInputError);
    await expect(upload).rejects.toMatchObject({ remediation: expect.stringContaining("0755") });
  }
  expect(server.received).toEqual([]);
});

test("content of classes that are not those of this module goes through", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, {}));
  const bytes = runInNewContext("new Uint8Array([104, 105])") as Uint8Array<ArrayBuffer>;
  expect(bytes).not.toBeInstanceOf(Uint8Array);
  await client(server).sandboxes.upload("sbx_0", "/x", bytes);
  expect(server.last.body.toString()).toBe("hi");
});

test("downloads return the exact bytes, at once and as a stream", async () => {
  const bytes = randomBytes(300_000);
  await using server = await ScriptedServer.start((response) => response.end(bytes));
  expect(sha256(await client(server).sandboxes.download("sbx_0", "/tmp/x"))).toBe(sha256(bytes));
  const stream = await client(server).sandboxes.downloadStream("sbx_0", "/tmp/x");
  expect(sha256(new Uint8Array(await new Response(stream).arrayBuffer()))).toBe(sha256(bytes));
  expect(server.last).toMatchObject({ method: "GET", url: "/v1/sandboxes/sbx_0/files/tmp/x" });
});

test("a download that breaks off is an error, not a short file", async () => {
  await using server = await ScriptedServer.start((response) => {
    response.writeHead(200, { "content-length": "1000" });
    response.write("half", () => response.destroy());
  });
  const download = client(server).sandboxes.download("sbx_0", "/tmp/x");
  await expect(download).rejects.toThrow(SkerryConnectionError);
  const stream = await client(server).sandboxes.downloadStream("sbx_0", "/tmp/x");
  await expect(new Response(stream).arrayBuffer()).rejects.toThrow(SkerryConnectionError);
});

test("a file of any length does not fill the memory of who downloads it: the connection is closed at the bound", async () => {
  const piece = Buffer.alloc(1_000_000);
  await using server = await ScriptedServer.start((response) => {
    const send = () => {
      while (response.write(piece));
    };
    response.on("drain", send);
    send();
  });
  const { sandboxes } = client(server);
  const download = sandboxes.download("sbx_0", "/sparse", { maxBytes: 5_000_000 });
  const error: unknown = await download.catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(SkerryTooLargeError);
  expect(error).toMatchObject({ code: "too_large", maxBytes: 5_000_000 });
  expect((error as SkerryTooLargeError).remediation).toContain("downloadStream");
  await server.aborted.promise;
  await expect(sandboxes.download("sbx_0", "/sparse")).rejects.toMatchObject({ maxBytes: 268_435_456 });
});

test("a file of exactly the bound is whole, and a bound that is none is refused", async () => {
  await using server = await ScriptedServer.start((response) => response.end("12345"));
  const { sandboxes } = client(server);
  expect(await sandboxes.download("sbx_0", "/x", { maxBytes: 5 })).toHaveLength(5);
  await expect(sandboxes.download("sbx_0", "/x", { maxBytes: 4 })).rejects.toThrow(SkerryTooLargeError);
  expect(await sandboxes.download("sbx_0", "/x", { maxBytes: Infinity })).toHaveLength(5);
  for (const maxBytes of [-1, Number.NaN])
    await expect(sandboxes.download("sbx_0", "/x", { maxBytes })).rejects.toThrow(SkerryInputError);
});

test.each([
  ["fewer bytes than announced", "content-length: 10\r\n\r\nhalf"],
  ["a chunk that is cut off", "transfer-encoding: chunked\r\n\r\na\r\nhalf"],
  ["no last chunk", "transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n"],
])("%s are an error, at once and as a stream", async (_what, rest) => {
  await using server = await ScriptedServer.start((response) => {
    response.socket?.end(`HTTP/1.1 200 OK\r\n${rest}`);
  });
  const { sandboxes } = client(server);
  await expect(sandboxes.download("sbx_0", "/x")).rejects.toThrow(SkerryConnectionError);
  const stream = await sandboxes.downloadStream("sbx_0", "/x");
  await expect(new Response(stream).arrayBuffer()).rejects.toThrow(SkerryConnectionError);
});

test("canceling a download that waits for bytes closes the connection", async () => {
  await using server = await ScriptedServer.start((response) => {
    response.writeHead(200, { "content-length": "1000" });
    response.write("half");
  });
  const stream = await client(server).sandboxes.downloadStream("sbx_0", "/tmp/x");
  const reader = stream.getReader();
  await reader.read();
  const waiting = reader.read();
  await reader.cancel();
  expect((await waiting).done).toBe(true);
  await server.aborted.promise;
});

test("a directory is listed with the query that asks for it", async () => {
  const listing = {
    entries: [{ name: "a b", size: 3, type: "file", modified: "2026-11-20T16:21:09.123Z" }],
    truncated: false,
  };
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, listing));
  expect(await client(server).sandboxes.listDirectory("sbx_0", "/")).toEqual(listing);
  expect(server.last.url).toBe("/v1/sandboxes/sbx_0/files/?list=true");
});

test("the file system is changed at the paths that were given", async () => {
  await using server = await ScriptedServer.start((response, { method }) => {
    if (method === "DELETE") return void response.writeHead(204).end();
    sendJson(response, 200, { path: "/a" });
  });
  const files = client(server).sandboxes.files("sbx_0");
  const last = () => [server.last.method, server.last.url, server.last.body.toString()];
  await files.stat("/a b", { follow: true });
  expect(last()).toEqual(["GET", "/v1/sandboxes/sbx_0/stat/a%20b?follow=true", ""]);
  await files.list("/etc/", { depth: 3, limit: 5 });
  expect(last()).toEqual(["GET", "/v1/sandboxes/sbx_0/files/etc?list=true&depth=3&limit=5", ""]);
  await files.makeDirectory("/srv/data/", { mode: "0700" });
  expect(last()).toEqual(["PUT", "/v1/sandboxes/sbx_0/directories/srv/data?mode=0700", ""]);
  await files.move("/a", "/b");
  expect(last()).toEqual(["PATCH", "/v1/sandboxes/sbx_0/files/a", '{"path":"/b"}']);
  await files.setMode("/a", "0600");
  expect(last()).toEqual(["PATCH", "/v1/sandboxes/sbx_0/files/a", '{"mode":"0600"}']);
  await files.signUrl("/a", { method: "PUT", mode: "0755", expiresIn: "1m" });
  expect(last()).toEqual([
    "POST",
    "/v1/sandboxes/sbx_0/urls",
    '{"path":"/a","method":"PUT","mode":"0755","expires_in":"1m"}',
  ]);
  await files.remove("/a", { recursive: true });
  expect(last()).toEqual(["DELETE", "/v1/sandboxes/sbx_0/files/a?recursive=true", ""]);
  for (const wrong of [
    files.move("/a", "b"),
    files.signUrl("a"),
    files.signUrl("/a", { method: "PUT", mode: "rwx" }),
    files.stat("a"),
    files.remove("/a/../b"),
    files.setMode("/a", "rwx"),
    files.makeDirectory("/a", { mode: "8" }),
  ])
    await expect(wrong).rejects.toThrow(SkerryInputError);
});

test("an archive goes through as it comes, both ways", async () => {
  await using server = await ScriptedServer.start((response, { method }) => {
    if (method === "PUT") return void response.writeHead(204).end();
    response.end("an archive");
  });
  const files = client(server).sandboxes.files("sbx_0");
  await files.unpack("/into", ReadableStream.from([Buffer.from("one"), Buffer.from("two")]));
  expect([server.last.url, server.last.body.toString()]).toEqual([
    "/v1/sandboxes/sbx_0/archives/into",
    "onetwo",
  ]);
  let text = "";
  for await (const chunk of await files.pack("/etc")) text += Buffer.from(chunk).toString();
  expect([server.last.url, text]).toEqual(["/v1/sandboxes/sbx_0/archives/etc", "an archive"]);
  await expect(files.unpack("/into", {} as string)).rejects.toThrow(SkerryInputError);
});

const sse = (event: string, data: object): string => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

test("a watch gives its events, and ends with the directory, an error or the connection", async () => {
  const told = { event: "create", path: "a", type: "file" };
  let last = sse("end", {});
  await using server = await ScriptedServer.start((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(sse("keepalive", {}) + sse("create", told) + last);
  });
  const events = async (): Promise<unknown[]> => {
    const seen: unknown[] = [];
    const files = client(server).sandboxes.files("sbx_0");
    for await (const event of files.watch("/work", { recursive: true })) seen.push(event);
    return seen;
  };
  expect(await events()).toEqual([told]);
  expect(server.last.url).toBe("/v1/sandboxes/sbx_0/watch/work?recursive=true");
  last = sse("error", { code: "sandbox_not_running", message: "It has ended." });
  await expect(events()).rejects.toMatchObject({ code: "sandbox_not_running" });
  last = "";
  await expect(events()).rejects.toThrow("ended before the watch did");
  last = "event: create\ndata: {\n\n";
  await expect(events()).rejects.toThrow("not one of Skerry");
});
