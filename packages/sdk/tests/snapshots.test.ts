import { expect, test } from "vitest";
import { Skerry } from "../src/skerry.ts";
import { sandboxInfo, ScriptedServer, sendJson } from "./support/scripted-server.ts";

const forks = { items: ["sbx_1", "sbx_2"].map((id) => ({ ...sandboxInfo, id })) };

function connected(server: ScriptedServer): Skerry {
  return new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
}

test("a snapshot, forks and a rollback of a sandbox in hand are its own", async () => {
  await using server = await ScriptedServer.start((response, { url }) => {
    if (url.endsWith("/fork")) return sendJson(response, 201, forks);
    if (url.endsWith("/snapshots")) return sendJson(response, 201, { id: "snp_0", status: "ready" });
    return sendJson(response, 200, {
      ...sandboxInfo,
      snapshot_id: url.endsWith("/rollback") ? "snp_0" : null,
    });
  });
  const sandbox = await connected(server).sandboxes.get("sbx_0");
  expect(await sandbox.snapshot({ name: "ready" })).toMatchObject({ id: "snp_0" });
  expect(server.last.url).toBe("/v1/sandboxes/sbx_0/snapshots");
  expect((await sandbox.fork(2)).map(({ id }) => id)).toEqual(["sbx_1", "sbx_2"]);
  expect(JSON.parse(server.last.body.toString())).toEqual({ count: 2 });
  await sandbox.rollback("ready");
  expect(JSON.parse(server.last.body.toString())).toEqual({ snapshot: "ready" });
  expect(sandbox.info.snapshot_id).toBe("snp_0");
});

test("snapshots are taken of machines too, and listed by what they are of", async () => {
  await using server = await ScriptedServer.start((response, { method }) => {
    if (method === "POST") return sendJson(response, 201, { id: "snp_0", machine_id: "mch_0" });
    return sendJson(response, 200, { items: [{ id: "snp_0" }], next_cursor: null });
  });
  const { machines, snapshots } = connected(server);
  expect(await machines.snapshot("mch_0", { name: "loaded" })).toMatchObject({ machine_id: "mch_0" });
  expect(server.last.url).toBe("/v1/machines/mch_0/snapshots");
  for await (const one of snapshots.list({ of: "machine" })) expect(one.id).toBe("snp_0");
  expect(server.last.url).toBe("/v1/snapshots?of=machine");
  await snapshots.page();
  expect(server.last.url).toBe("/v1/snapshots");
});

test("a machine is forked, and another one begins at a snapshot", async () => {
  await using server = await ScriptedServer.start((response, { url }) =>
    sendJson(
      response,
      201,
      url.endsWith("/fork") ? { items: [{ id: "mch_1" }, { id: "mch_2" }] } : { id: "mch_3" },
    ),
  );
  const { machines } = connected(server);
  expect((await machines.fork("mch_0", 2)).map(({ id }) => id)).toEqual(["mch_1", "mch_2"]);
  expect(server.last.url).toBe("/v1/machines/mch_0/fork");
  expect(JSON.parse(server.last.body.toString())).toEqual({ count: 2 });
  expect(await machines.rollback("mch_0", "loaded")).toMatchObject({ id: "mch_3" });
  expect([server.last.url, JSON.parse(server.last.body.toString())]).toEqual([
    "/v1/machines/mch_0/rollback",
    { snapshot: "loaded" },
  ]);
  expect(await machines.create({ snapshot: "loaded" })).toMatchObject({ id: "mch_3" });
  expect(JSON.parse(server.last.body.toString())).toEqual({ snapshot: "loaded" });
});

test("a fork that was cut off is sent again under the same key, so that it is made once", async () => {
  let calls = 0;
  await using server = await ScriptedServer.start((response) => {
    calls += 1;
    if (calls === 1) return void response.destroy();
    return sendJson(response, 201, forks);
  });
  expect(await connected(server).sandboxes.fork("sbx_0", 2)).toHaveLength(2);
  const keys = server.received.map(({ headers }) => headers["idempotency-key"]);
  expect(keys).toHaveLength(2);
  expect(new Set(keys).size).toBe(1);
});
