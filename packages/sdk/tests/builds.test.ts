import { expect, test } from "vitest";
import type { BuildLogLine } from "@skerry/contract/builds/build-log";
import { Skerry } from "../src/skerry.ts";
import { ScriptedServer, sendJson } from "./support/scripted-server.ts";

const build = { id: "bld_0", name: "web", status: "queued", waits_for_context: true };

function eventOf(line: number): string {
  return `event: line\ndata: ${JSON.stringify({ line, step: 0, time: "", text: `line ${line}` })}\n\n`;
}

test("a build sends its context, tells its log, goes on where the connection broke, and resolves at its end", async () => {
  const asked: string[] = [];
  await using server = await ScriptedServer.start((response, { method, url }) => {
    asked.push(`${method} ${url}`);
    if (method === "POST") return sendJson(response, 201, build);
    if (method === "PUT") return sendJson(response, 200, build);
    if (!url.includes("/logs")) return sendJson(response, 200, { ...build, status: "ready" });
    response.writeHead(200, { "content-type": "text/event-stream" });
    // The first connection ends before the log does.
    response.end(url.includes("after=1") ? `${eventOf(2)}event: end\ndata: {}\n\n` : eventOf(1));
  });
  const lines: BuildLogLine[] = [];
  const { templates } = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  const ended = await templates.build(
    { name: "web", steps: [{ copy: { from: ".", to: "/app" } }] },
    { context: "a tar archive", onLine: (line) => void lines.push(line) },
  );
  expect(ended).toMatchObject({ id: "bld_0", status: "ready" });
  expect(lines.map(({ text }) => text)).toEqual(["line 1", "line 2"]);
  expect(asked.slice(0, 2)).toEqual(["POST /v1/templates", "PUT /v1/builds/bld_0/context"]);
});

test("a build that ends before it has its context resolves with its own error", async () => {
  const failed = { ...build, status: "failed", error: { message: "no place" } };
  await using server = await ScriptedServer.start((response, { method, url }) => {
    if (method === "POST") return sendJson(response, 201, build);
    if (method === "PUT")
      return sendJson(response, 409, {
        code: url.includes("context") ? "build_over" : "not_now",
        message: "No.",
      });
    if (!url.includes("/logs")) return sendJson(response, 200, failed);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end("event: end\ndata: {}\n\n");
  });
  const { templates } = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  const request = { name: "web", dockerfile: {} };
  expect(await templates.build(request, { context: "a tar archive" })).toEqual(failed);
  // Every other refusal is one.
  const refused = templates.build(request, { context: "a tar archive", secrets: { key: "x" } });
  await expect(refused).rejects.toMatchObject({ code: "not_now" });
});

test("a build of what was built before is sent nothing, and the cache is listed and cleared", async () => {
  const asked: string[] = [];
  const ready = { ...build, status: "ready", waits_for_context: false };
  await using server = await ScriptedServer.start((response, { method, url }) => {
    asked.push(`${method} ${url}`);
    if (url.startsWith("/v1/cache"))
      return sendJson(
        response,
        200,
        method === "GET" ? { items: [{ id: "tpl_1" }], next_cursor: null } : { entries: 1, bytes: 2 },
      );
    if (!url.includes("/logs")) return sendJson(response, method === "POST" ? 201 : 200, ready);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end("event: end\ndata: {}\n\n");
  });
  const { templates, cache } = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  await templates.build({ name: "web" }, { context: "a tar archive" });
  expect(asked.filter((call) => call.startsWith("PUT"))).toEqual([]);
  for await (const { id } of cache.list()) expect(id).toBe("tpl_1");
  expect((await cache.page()).items).toHaveLength(1);
  expect(await cache.clear()).toEqual({ entries: 1, bytes: 2 });
  expect(asked.at(-1)).toBe("DELETE /v1/cache");
});

test("a push tells its log, and resolves at its end with the digest", async () => {
  const asked: string[] = [];
  const pushed = { template_id: "tpl_0", image: "registry.example/web:1", digest: "sha256:0" };
  await using server = await ScriptedServer.start((response, { method, url, body }) => {
    asked.push(`${method} ${url} ${body.toString()}`);
    if (method === "POST") return sendJson(response, 201, build);
    if (!url.includes("/logs")) return sendJson(response, 200, { ...build, status: "ready", pushed });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`${eventOf(1)}event: end\ndata: {}\n\n`);
  });
  const lines: BuildLogLine[] = [];
  const { templates } = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  const onLine = (line: BuildLogLine): void => void lines.push(line);
  const ended = await templates.push("web:42", { image: pushed.image }, { onLine });
  expect(ended).toMatchObject({ status: "ready", pushed });
  expect(lines).toHaveLength(1);
  expect(asked[0]).toBe('POST /v1/templates/web%3A42/push {"image":"registry.example/web:1"}');
});

test("tags, retries and cancels go where they belong", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, build));
  const { templates, builds } = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  await templates.tag("web", "stable", { template: "web:42" });
  expect(server.last.url).toBe("/v1/templates/web/tags/stable");
  expect(JSON.parse(server.last.body.toString())).toEqual({ template: "web:42" });
  await templates.untag("web", "stable");
  expect([server.last.method, server.last.url]).toEqual(["DELETE", "/v1/templates/web/tags/stable"]);
  await builds.cancel("bld_0");
  expect(server.last.url).toBe("/v1/builds/bld_0/cancel");
  await builds.retry("bld_0");
  expect(server.last.url).toBe("/v1/builds/bld_0/retry");
});
