// `--watch` of lists, against a server that a test has change something.

import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { sandboxInfo, ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { ended, Shell } from "./support/shell.ts";

class ChangingServer implements AsyncDisposable {
  readonly #server: ScriptedServer;
  readonly #streams = new Set<ServerResponse>();
  items: object[] = [];

  private constructor(server: ScriptedServer) {
    this.#server = server;
  }

  static async start(): Promise<ChangingServer> {
    const started: { own?: ChangingServer } = {};
    const server = await ScriptedServer.start((response, { url }) => started.own?.answer(response, url));
    return (started.own = new ChangingServer(server));
  }

  get baseUrl(): string {
    return this.#server.baseUrl;
  }

  /** What was asked for, without the stream itself. */
  get lists(): string[] {
    return this.#server.received.map(({ url }) => url).filter((url) => !url.startsWith("/v1/events"));
  }

  get streams(): string[] {
    return this.#server.received.map(({ url }) => url).filter((url) => url.startsWith("/v1/events"));
  }

  answer(response: ServerResponse, url: string): void {
    if (!url.startsWith("/v1/events")) {
      sendJson(response, 200, { items: url.startsWith("/v1/machines") ? [] : this.items, next_cursor: null });
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    this.#streams.add(response);
    this.tell(["synced", { cursor: "c", now: "2026-11-20T16:21:09.123Z" }]);
  }

  tell(...events: readonly (readonly [event: string, data: object])[]): void {
    const text = events.map(([event, data]) => `event: ${event}\nid: c\ndata: ${JSON.stringify(data)}\n\n`);
    for (const stream of this.#streams) stream.write(text.join(""));
  }

  change(kind: string): void {
    const synced = { cursor: "c", now: "2026-11-20T16:21:10.123Z" };
    this.tell([kind, { kind, id: "x", version: 2, resource: null }], ["synced", synced]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]();
  }
}

const sandbox = (id: string, status: string) => ({ ...sandboxInfo, id, status });

test("list --watch lists again when something of it has changed, and not for anything else", async () => {
  await using server = await ChangingServer.start();
  await using shell = await Shell.forServer(server);
  server.items = [sandbox("sbx_1", "creating")];
  const child = shell.start("sandbox", "list", "--watch", "--json", "--limit", "5");
  const end = ended(child);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const statuses = async () => {
    const { value } = (await lines.next()) as { value: string };
    return (JSON.parse(value) as { items: { status: string }[] }).items.map(({ status }) => status);
  };
  expect(await statuses()).toEqual(["creating"]);
  // Nothing of the list has changed, so nothing is said.
  server.change("machine");
  server.change("sandbox");
  server.items = [sandbox("sbx_2", "creating"), sandbox("sbx_1", "running")];
  server.change("sandbox");
  expect(await statuses()).toEqual(["creating", "running"]);
  server.items = [];
  server.tell(
    ["reset", { reason: "too_old", cursor: "d" }],
    ["synced", { cursor: "d", now: "2026-11-20T16:21:11Z" }],
  );
  expect(await statuses()).toEqual([]);
  expect(server.streams).toEqual(["/v1/events?kind=sandbox"]);
  expect(new Set(server.lists)).toEqual(new Set(["/v1/sandboxes?limit=5&alive=true&owner=none"]));
  child.kill("SIGINT");
  expect((await end).code).toBe(130);
});

test("in a pipe ps --watch shows table after table, and hears of what its token may read", async () => {
  await using server = await ChangingServer.start();
  await using shell = await Shell.forServer(server);
  server.items = [sandbox("sbx_1", "creating")];
  const child = shell.start("ps", "--watch");
  const end = ended(child);
  await once(child.stdout, "data");
  server.items = [sandbox("sbx_1", "running")];
  const again = once(child.stdout, "data");
  server.change("sandbox");
  await again;
  child.kill("SIGTERM");
  const { stdout } = await end;
  expect(stdout.toString().replaceAll(/  +/g, " ")).toMatch(
    /^ID NAME [^\n]*\nsbx_1 [^\n]* creating [^\n]*\n\nID NAME [^\n]*\nsbx_1 [^\n]* running [^\n]*\n$/,
  );
  expect(server.streams).toEqual(["/v1/events"]);
});

test.each([
  ["host", "/v1/events?kind=host%2Cmove"],
  ["move", "/v1/events?kind=move"],
])("%s list --watch follows what it shows", async (noun, stream) => {
  await using server = await ChangingServer.start();
  await using shell = await Shell.forServer(server);
  const child = shell.start(noun, "list", "--watch", "--json");
  const end = ended(child);
  await once(child.stdout, "data");
  child.kill("SIGINT");
  expect([(await end).code, server.streams]).toEqual([130, [stream]]);
});

test("while something changes without an end, the list is read now and then and not each time", async () => {
  await using server = await ChangingServer.start();
  await using shell = await Shell.forServer(server);
  const child = shell.start("machine", "list", "--watch", "--json");
  const end = ended(child);
  await once(child.stdout, "data");
  for (let n = 0; n < 200; n += 1)
    server.tell(["machine", { kind: "machine", id: "x", version: n, resource: null }]);
  server.change("machine");
  await expect.poll(() => server.lists.length, { timeout: 30_000 }).toBeGreaterThan(1);
  server.tell(["error", { code: "unauthorized", message: "The token was revoked." }]);
  const { code, stderr } = await end;
  expect([code, stderr]).toEqual([1, expect.stringContaining("unauthorized")]);
  expect(server.lists.length).toBeLessThan(50);
});
