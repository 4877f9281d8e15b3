import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { orDestroyed } from "../src/http/abandoned-creation.ts";
import { apiError } from "../src/errors/api-errors.ts";
import type { CreateOptions } from "../src/http/http.ts";
import { Skerry, SkerryConnectionError } from "../src/skerry.ts";
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

/** A creation that fails, and what is then asked and destroyed in the background. */
async function failing(error: Error, options: CreateOptions = {}) {
  const asked: CreateOptions[] = [];
  const destroyed = Promise.withResolvers<string>();
  const create = async (own: CreateOptions): Promise<string> => {
    asked.push(own);
    if (asked.length === 1) throw error;
    return "sbx_1";
  };
  const destroy = async (id: string) => destroyed.resolve(id);
  await expect(orDestroyed(options, create, destroy)).rejects.toBe(error);
  return { asked, destroyed: destroyed.promise };
}

test("what the server made while it was silent for too long is destroyed, too", async () => {
  const silence = new SkerryConnectionError("http://host", "no answer within 240 s");
  const { asked, destroyed } = await failing(silence, { onTiming: () => undefined });
  expect(await destroyed).toBe("sbx_1");
  expect(asked.map(({ idempotencyKey }) => idempotencyKey)).toEqual([
    expect.stringMatching(/^[0-9a-f-]{36}$/),
    asked[0]?.idempotencyKey,
  ]);
});

test("a refusal, a connection that broke and a key of the caller's own are asked about no more", async () => {
  const refusal = apiError({ code: "quota_exceeded", message: "No more.", status: 403 });
  const cause = new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNRESET" }) });
  const broken = new SkerryConnectionError("http://host", "cut off", cause);
  const silence = new SkerryConnectionError("http://host", "no answer within 240 s");
  const all = [
    await failing(refusal),
    await failing(broken),
    await failing(silence, { idempotencyKey: "mine" }),
  ];
  // Whatever was begun in the background has begun by now.
  await new Promise(setImmediate);
  expect(all.map(({ asked }) => asked.length)).toEqual([1, 1, 1]);
});
