import { expect, test } from "vitest";
import { errorStatus } from "@skerry/contract/errors";
import { apiError } from "../src/errors/api-errors.ts";
import {
  ImpossibleError,
  NotFoundError,
  RateLimitedError,
  Skerry,
  SkerryApiError,
  SkerryConnectionError,
  UnavailableError,
} from "../src/skerry.ts";
import { sandboxInfo, ScriptedServer, sendJson } from "./support/scripted-server.ts";

const refusal = (code: string) => ({ code, message: "Not now." });

/** Fails as told so many times, then answers. */
function flaky(failures: number, fail: (response: Parameters<typeof sendJson>[0]) => void) {
  let calls = 0;
  return ScriptedServer.start((response) => {
    calls += 1;
    if (calls <= failures) fail(response);
    else sendJson(response, 200, { ...sandboxInfo, items: [] });
  });
}

test("a creation whose connection breaks is sent again under the same key, and each creation has its own", async () => {
  await using server = await flaky(1, (response) => response.destroy());
  const { sandboxes } = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  expect((await sandboxes.create({ template: "base" })).id).toBe("sbx_0");
  await sandboxes.create({ template: "base" });
  const keys = server.received.map(({ headers }) => headers["idempotency-key"]);
  expect(keys).toHaveLength(3);
  expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
  expect(keys[1]).toBe(keys[0]);
  expect(keys[2]).not.toBe(keys[0]);
  expect(server.received[1]?.body).toEqual(server.received[0]?.body);
});

test("a refusal that passes is waited for, and every other one is told at once", async () => {
  for (const [code, status, sent] of [
    ["database_unavailable", 503, 2],
    ["shutting_down", 503, 2],
    ["no_capacity", 503, 1],
    ["internal", 500, 1],
    ["sandbox_not_found", 404, 1],
  ] as const) {
    await using server = await flaky(1, (response) => sendJson(response, status, refusal(code)));
    const call = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" }).sandboxes.get("sbx_0");
    if (sent === 2) expect((await call).id).toBe("sbx_0");
    else await expect(call).rejects.toMatchObject({ code, status });
    expect(server.received, code).toHaveLength(sent);
  }
});

test("a command, an upload and a change are never sent twice", async () => {
  await using server = await flaky(99, (response) => response.destroy());
  const { sandboxes } = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  for (const call of [
    () => sandboxes.execute("sbx_0", "true"),
    () => sandboxes.upload("sbx_0", "/a", "x"),
    () => sandboxes.keepalive("sbx_0"),
    () => sandboxes.setEgress("sbx_0", {}),
  ]) {
    const before = server.received.length;
    await expect(call()).rejects.toThrow(SkerryConnectionError);
    expect(server.received.length).toBe(before + 1);
  }
});

test("there is an end to trying, it can be turned off, and a signal ends the pause", async () => {
  await using server = await flaky(99, (response) => sendJson(response, 503, refusal("host_unavailable")));
  const tries = async (retries: number | undefined) => {
    const before = server.received.length;
    const call = new Skerry({ baseUrl: server.baseUrl, token: "sk_test", retries }).sizes.list();
    await expect(call).rejects.toThrow(UnavailableError);
    return server.received.length - before;
  };
  expect([await tries(undefined), await tries(0), await tries(1)]).toEqual([3, 1, 2]);

  await using slow = await flaky(99, (response) => {
    response.setHeader("retry-after", "9");
    sendJson(response, 429, refusal("rate_limited"));
  });
  const stop = new AbortController();
  const call = new Skerry({ baseUrl: slow.baseUrl, token: "sk_test" }).sizes.list({ signal: stop.signal });
  await slow.begun.promise;
  stop.abort(new Error("enough"));
  await expect(call).rejects.toThrow("enough");
});

test("a server that asks for long patience is not waited for", async () => {
  await using server = await flaky(1, (response) => {
    response.setHeader("retry-after", "11");
    sendJson(response, 429, refusal("rate_limited"));
  });
  const call = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" }).sizes.list();
  await expect(call).rejects.toMatchObject({ retryAfterS: 11 });
  expect(server.received).toHaveLength(1);
});

test("every code of the closed list has an error of a kind, and its name", () => {
  for (const [code, status] of Object.entries(errorStatus)) {
    const error = apiError({ code, status, message: "It failed." });
    expect(error).toBeInstanceOf(SkerryApiError);
    expect(error.name).toBe(error.constructor.name);
    if (status < 499) expect(error.name, code).not.toBe("SkerryApiError");
  }
  const kindOf = (code: keyof typeof errorStatus) =>
    apiError({ code, status: errorStatus[code], message: "." });
  expect(kindOf("sandbox_not_found")).toBeInstanceOf(NotFoundError);
  expect(kindOf("sandbox_busy")).toBeInstanceOf(RateLimitedError);
  expect(kindOf("unknown_template")).toBeInstanceOf(ImpossibleError);
});
