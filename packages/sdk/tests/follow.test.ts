import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Skerry, SkerryConnectionError, type FollowEvent } from "../src/skerry.ts";
import { eventText, exitFields, output, ScriptedServer } from "./support/scripted-server.ts";

let passedMs = 0;
beforeEach(() => {
  passedMs = 0;
  vi.spyOn(performance, "now").mockImplementation(() => passedMs);
});
afterEach(() => void vi.restoreAllMocks());

const follow = (server: ScriptedServer, reconnectMs?: number) =>
  new Skerry({ baseUrl: server.baseUrl, token: "sk_test" }).sandboxes.followExecution("sbx_0", "exe_1", {
    reconnectMs,
  });

const HOUR_MS = 3_600_000;

test("a connection that breaks after an hour of silence is made again", async () => {
  const connections: ServerResponse[] = [];
  await using server = await ScriptedServer.start((response) => {
    const isLast = connections.push(response) === 3;
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (isLast) response.end(`id: 4\n${eventText("exit", exitFields)}`);
    else response.write(`id: ${2 * connections.length}\n${output("stdout", "ab")}`);
  });
  const heard: FollowEvent["type"][] = [];
  for await (const { type } of follow(server)) {
    heard.push(type);
    passedMs += HOUR_MS;
    connections.at(-1)?.destroy();
  }
  expect(heard).toEqual(["stdout", "stdout", "exit"]);
  expect(server.last.url).toContain("after=4");
});

test("connections that break as soon as they are made are not made for ever", async () => {
  await using server = await ScriptedServer.start((response) => {
    passedMs += 10_000;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end();
  });
  await expect(follow(server, 15_000).next()).rejects.toThrow(SkerryConnectionError);
  expect(server.received.length).toBe(3);
});
