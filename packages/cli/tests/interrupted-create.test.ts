import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import {
  machineInfo,
  sandboxInfo,
  ScriptedServer,
  sendJson,
} from "../../sdk/tests/support/scripted-server.ts";
import { ended, Shell } from "./support/shell.ts";

/** A server that answers a creation when the test says so, and everything else at once. */
async function slowServer(info: { readonly id: string }) {
  const asked = Promise.withResolvers<ServerResponse>();
  const server = await ScriptedServer.start((response, { method }) => {
    if (method === "POST") asked.resolve(response);
    else response.writeHead(204).end();
  });
  const answer = async () => sendJson(await asked.promise, 201, info);
  return { server, asked: asked.promise, answer };
}

const cases = [
  ["sandbox", sandboxInfo, "SIGINT", 130],
  ["machine", machineInfo, "SIGTERM", 143],
] as const;

test.each(cases)("%s create that is interrupted destroys what was made", async (noun, info, signal, code) => {
  const { server, asked, answer } = await slowServer(info);
  await using _server = server;
  await using shell = await Shell.forServer(server);
  const child = shell.start(noun, "create", "--template", "base");
  await asked;
  child.kill(signal);
  const [said] = (await once(child.stderr, "data")) as [Buffer];
  expect(said.toString()).toBe(
    `Interrupted: waiting for the ${noun} to be created, to destroy it. Once more leaves at once.\n`,
  );
  await answer();
  expect(await ended(child)).toMatchObject({
    code,
    stdout: Buffer.from(""),
    stderr: `${info.id} was created and is destroyed again.\n`,
  });
  expect(server.last).toMatchObject({
    method: "DELETE",
    url: `/v1/${noun === "sandbox" ? "sandboxes" : "machines"}/${info.id}`,
  });
});

test("a second Ctrl-C leaves at once and says how to find what may be there", async () => {
  const { server, asked } = await slowServer(sandboxInfo);
  await using _server = server;
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "create", "--template", "base");
  await asked;
  child.kill("SIGINT");
  await once(child.stderr, "data");
  child.kill("SIGINT");
  const { code, stderr } = await ended(child);
  expect(code).toBe(130);
  const key = String(server.last.headers["idempotency-key"]);
  expect(key).toMatch(/^[0-9a-f-]{36}$/);
  expect(stderr).toContain(`Its Idempotency-Key is ${key}. (left_behind)\n`);
  expect(stderr).toContain("skerry sandbox list");
});

test("an interrupted create that the server refuses leaves nothing, and says no more", async () => {
  const { server, asked } = await slowServer(sandboxInfo);
  await using _server = server;
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "create", "--template", "base");
  const response = await asked;
  child.kill("SIGINT");
  await once(child.stderr, "data");
  sendJson(response, 503, { code: "no_capacity", message: "No host has room." });
  expect(await ended(child)).toMatchObject({ code: 130, stderr: "" });
  expect(server.received).toHaveLength(1);
});

const notMade = {
  code: "template_not_ready",
  message: 'The template "ci" is being built on this host: unpacking 3 of 20.',
  context: { field: "template", template: "ci", state: "building" },
};

test.each([
  ["sandbox", sandboxInfo],
  ["machine", machineInfo],
] as const)("%s create waits while the image of its template is made", async (noun, info) => {
  let asked = 0;
  await using server = await ScriptedServer.start((response, { method }) => {
    if (method !== "POST") return void response.writeHead(204).end();
    asked += 1;
    if (asked < 3) sendJson(response, 503, notMade, { "retry-after": "1" });
    else sendJson(response, 201, info);
  });
  await using shell = await Shell.forServer(server);
  const { code, stdout } = await ended(shell.start(noun, "create", "--template", "ci"));
  expect([code, stdout.toString()]).toEqual([0, expect.stringContaining(info.id)]);
  expect(asked).toBe(3);
});

test("a create that is interrupted while the image of its template is made leaves nothing", async () => {
  const asked = Promise.withResolvers<void>();
  await using server = await ScriptedServer.start((response) => {
    sendJson(response, 503, notMade, { "retry-after": "60" });
    asked.resolve();
  });
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "create", "--template", "ci");
  await asked.promise;
  child.kill("SIGINT");
  expect((await ended(child)).code).toBe(130);
  expect(server.received).toHaveLength(1);
});

test("a create whose template could not be made is refused at once", async () => {
  const failed = { ...notMade, context: { ...notMade.context, state: "failed" } };
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 503, failed, { "retry-after": "60" }),
  );
  await using shell = await Shell.forServer(server);
  const { code, stderr } = await ended(shell.start("sandbox", "create", "--template", "ci"));
  expect([code, stderr]).toEqual([1, expect.stringContaining("template_not_ready")]);
});

test("an interrupted create whose sandbox cannot be destroyed names it", async () => {
  const asked = Promise.withResolvers<ServerResponse>();
  await using server = await ScriptedServer.start((response, { method }) => {
    if (method === "POST") asked.resolve(response);
    else sendJson(response, 403, { code: "forbidden", message: "The token may not." });
  });
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "create", "--template", "base");
  const response = await asked.promise;
  child.kill("SIGINT");
  await once(child.stderr, "data");
  sendJson(response, 201, sandboxInfo);
  const { code, stderr } = await ended(child);
  expect(code).toBe(130);
  expect(stderr).toBe(
    "error: The sandbox sbx_0 was created and not destroyed. The token may not. (left_behind)\nskerry sandbox destroy sbx_0\n",
  );
});
