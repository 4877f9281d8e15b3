import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { Skerry } from "../src/skerry.ts";
import { machineInfo, sandboxInfo, ScriptedServer, sendJson } from "./support/scripted-server.ts";

/** A server whose creation has begun, and is answered when the test says so. */
async function creating() {
  const begun = Promise.withResolvers<ServerResponse>();
  const destroyed = Promise.withResolvers<string>();
  const server = await ScriptedServer.start((response, { method, url }) => {
    if (method === "POST") return begun.resolve(response);
    destroyed.resolve(`${method} ${url}`);
    response.writeHead(204).end();
  });
  const client = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  const abort = new AbortController();
  return { server, client, abort, begun: begun.promise, destroyed: destroyed.promise };
}

test.each([
  ["sandboxes", sandboxInfo, "DELETE /v1/sandboxes/sbx_0"],
  ["machines", machineInfo, "DELETE /v1/machines/mch_0"],
] as const)("of %s nothing stays of a creation that its caller has given up", async (kind, info, call) => {
  const { server, client, abort, begun, destroyed } = await creating();
  await using _server = server;
  const made = client[kind].create({ template: "base" }, { signal: abort.signal });
  const response = await begun;
  abort.abort(new Error("changed my mind"));
  await expect(made).rejects.toThrow("changed my mind");
  sendJson(response, 201, info);
  expect(await destroyed).toBe(call);
});

test("a creation that is refused after its caller has left is nobody's error", async () => {
  const { server, client, abort, begun } = await creating();
  await using _server = server;
  const made = client.sandboxes.create({ template: "base" }, { signal: abort.signal });
  const response = await begun;
  abort.abort(new Error("changed my mind"));
  await expect(made).rejects.toThrow("changed my mind");
  sendJson(response, 403, { code: "quota_exceeded", message: "No more.", request_id: "req_1" });
  // The next call comes after the refusal on the same connection.
  await client.sandboxes.destroy("sbx_1");
  expect(server.received.map(({ method }) => method)).toEqual(["POST", "DELETE"]);
});

test("a caller that has chosen the idempotency key keeps what was made, and finds it by that", async () => {
  const { server, client, abort, begun } = await creating();
  await using _server = server;
  const options = { signal: abort.signal, idempotencyKey: "mine" };
  const made = client.sandboxes.create({ template: "base" }, options);
  await begun;
  abort.abort(new Error("changed my mind"));
  await expect(made).rejects.toThrow("changed my mind");
  await server.aborted.promise;
  expect(server.received).toHaveLength(1);
});

test("with a signal that is aborted already nothing is sent, and one that is aborted later changes nothing", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 201, sandboxInfo));
  const { sandboxes } = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  const aborted = AbortSignal.abort(new Error("no"));
  await expect(sandboxes.create({ template: "base" }, { signal: aborted })).rejects.toThrow("no");
  expect(server.received).toEqual([]);
  const later = new AbortController();
  expect((await sandboxes.create({ template: "base" }, { signal: later.signal })).id).toBe("sbx_0");
  later.abort();
  await sandboxes.get("sbx_0");
  expect(server.received.map(({ method }) => method)).toEqual(["POST", "GET"]);
});
