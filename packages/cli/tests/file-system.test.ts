import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

test("file shows, makes, moves, changes and removes what is at a path", async () => {
  const info = { path: "/b", name: "b", type: "file", size: 3, mode: "0640", owner: "root", group: "adm" };
  await using server = await ScriptedServer.start((response, { method }) => {
    if (method === "DELETE") return void response.writeHead(204).end();
    sendJson(response, 200, { ...info, modified: "2026-11-20T16:21:09.123Z" });
  });
  await using shell = await Shell.forServer(server);
  const file = (...args: string[]) => shell.run("sandbox", "file", ...args);
  const { stdout } = await file("stat", "sbx_0", "/a", "--follow");
  expect(stdout.toString()).toBe("file 0640 root adm 3 2026-11-20T16:21:09.123Z /b\n");
  expect(server.last.url).toBe("/v1/sandboxes/sbx_0/stat/a?follow=true");
  await file("mkdir", "sbx_0", "/a/b", "--mode", "0700");
  expect([server.last.method, server.last.url]).toEqual([
    "PUT",
    "/v1/sandboxes/sbx_0/directories/a/b?mode=0700",
  ]);
  await file("mv", "sbx_0", "/a", "/b");
  expect([server.last.method, server.last.body.toString()]).toEqual(["PATCH", '{"path":"/b"}']);
  await file("chmod", "sbx_0", "0640", "/b");
  expect([server.last.url, server.last.body.toString()]).toEqual([
    "/v1/sandboxes/sbx_0/files/b",
    '{"mode":"0640"}',
  ]);
  expect((await file("rm", "sbx_0", "/b", "-r")).code).toBe(0);
  expect([server.last.method, server.last.url]).toEqual([
    "DELETE",
    "/v1/sandboxes/sbx_0/files/b?recursive=true",
  ]);
  expect((await file("mv", "sbx_0", "/a", "b")).stderr).toContain("not absolute");
});

test("watch prints an event a line, and says when the directory is gone", async () => {
  const name = "evil\x1b[2J";
  const told = { event: "create", path: name, type: "directory" };
  await using server = await ScriptedServer.start((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`event: create\ndata: ${JSON.stringify(told)}\n\nevent: end\ndata: {}\n\n`);
  });
  await using shell = await Shell.forServer(server);
  const { code, stdout, stderr } = await shell.run("sandbox", "watch", "sbx_0", "/srv", "-r");
  expect([code, stdout.toString()]).toEqual([0, "create evil\\x1b[2J/\n"]);
  expect(stderr).toContain("gone");
  expect(server.last.url).toBe("/v1/sandboxes/sbx_0/watch/srv?recursive=true");
  const json = await shell.run("sandbox", "watch", "sbx_0", "/srv", "--json");
  expect(JSON.parse(json.stdout.toString())).toEqual(told);
});
