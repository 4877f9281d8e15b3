import { expect, test } from "vitest";
import {
  machineInfo,
  sandboxInfo,
  ScriptedServer,
  sendJson,
} from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

const snapshot = {
  ...{ id: "snp_0", name: "ready", sandbox_id: "sbx_0", template: "base", size: "shared-cpu-1x" },
  ...{ status: "ready", created_at: "2026-11-20T16:41:09.423Z" },
};

/** Answers as a server that takes, lists and deletes snapshots, and forks and rolls back. */
function start(): Promise<ScriptedServer> {
  return ScriptedServer.start((response, { method, url }) => {
    if (url.endsWith("/fork"))
      return sendJson(response, 201, { items: ["sbx_1", "sbx_2"].map((id) => ({ ...sandboxInfo, id })) });
    if (url === "/v1/machines") return sendJson(response, 201, machineInfo);
    if (url.endsWith("/rollback")) return sendJson(response, 200, { ...sandboxInfo, status: "running" });
    if (url.endsWith("/snapshots") && method === "POST") return sendJson(response, 201, snapshot);
    if (method === "DELETE") return void response.writeHead(204).end();
    if (url.includes("snp_")) return sendJson(response, 200, snapshot);
    return sendJson(response, 200, { items: [snapshot], next_cursor: null });
  });
}

const sent = (server: ScriptedServer): unknown => JSON.parse(server.last.body.toString());

test("a snapshot is taken under the name that was given, and its id is printed", async () => {
  await using server = await start();
  await using shell = await Shell.forServer(server);
  const taken = await shell.run("sandbox", "snapshot", "sbx_0", "--name", "ready");
  expect([taken.code, taken.stdout.toString()]).toEqual([0, "snp_0\n"]);
  expect([server.last.url, sent(server)]).toEqual(["/v1/sandboxes/sbx_0/snapshots", { name: "ready" }]);
  await shell.run("sandbox", "snapshot", "sbx_0");
  expect(sent(server)).toEqual({});
  await shell.run("machine", "snapshot", "mch_0", "--name", "loaded");
  expect([server.last.url, sent(server)]).toEqual(["/v1/machines/mch_0/snapshots", { name: "loaded" }]);
});

test("a fork makes one, or as many as were asked for, and prints their ids", async () => {
  await using server = await start();
  await using shell = await Shell.forServer(server);
  const forked = await shell.run("sandbox", "fork", "sbx_0", "--count", "2");
  expect(forked.stdout.toString()).toBe("sbx_1\nsbx_2\n");
  expect(sent(server)).toEqual({ count: 2 });
  const json = await shell.run("sandbox", "fork", "sbx_0", "--json");
  expect(sent(server)).toEqual({ count: 1 });
  expect(JSON.parse(json.stdout.toString())).toMatchObject({ items: [{ id: "sbx_1" }, { id: "sbx_2" }] });
  for (const wrong of ["0", "101", "many"])
    expect((await shell.run("sandbox", "fork", "sbx_0", "--count", wrong)).code).toBe(2);
  await shell.run("machine", "fork", "mch_0", "--count", "2");
  expect([server.last.url, sent(server)]).toEqual(["/v1/machines/mch_0/fork", { count: 2 }]);
  await shell.run("machine", "create", "--snapshot", "loaded", "--name", "next");
  expect([server.last.url, sent(server)]).toEqual(["/v1/machines", { snapshot: "loaded", name: "next" }]);
});

test("a rollback names the snapshot, and tells what the sandbox is then", async () => {
  await using server = await start();
  await using shell = await Shell.forServer(server);
  const back = await shell.run("sandbox", "rollback", "sbx_0", "ready");
  expect(back.stdout.toString()).toBe("sbx_0 running\n");
  const machine = await shell.run("machine", "rollback", "mch_0", "loaded", "--json");
  expect(JSON.parse(machine.stdout.toString())).toMatchObject({ status: "running" });
  expect([server.last.url, sent(server)]).toEqual(["/v1/machines/mch_0/rollback", { snapshot: "loaded" }]);
  await shell.run("sandbox", "rollback", "sbx_0", "ready");
  expect([server.last.url, sent(server)]).toEqual(["/v1/sandboxes/sbx_0/rollback", { snapshot: "ready" }]);
});

test("snapshots are listed, shown and deleted by id or name", async () => {
  await using server = await start();
  await using shell = await Shell.forServer(server);
  expect((await shell.run("snapshot", "list")).stdout.toString()).toContain("snp_0  ready  sbx_0");
  await shell.run("snapshot", "list", "--of", "machine");
  expect(server.last.url).toBe("/v1/snapshots?of=machine");
  expect((await shell.run("snapshot", "list", "--of", "volume")).code).toBe(2);
  const shown = await shell.run("snapshot", "get", "snp_0");
  expect(JSON.parse(shown.stdout.toString())).toMatchObject({ id: "snp_0", name: "ready" });
  const deleted = await shell.run("snapshot", "delete", "snp_0", "ready");
  expect(deleted.stdout.toString()).toBe("snp_0 deleted\nready deleted\n");
  expect([server.last.method, server.last.url]).toEqual(["DELETE", "/v1/snapshots/ready"]);
});
