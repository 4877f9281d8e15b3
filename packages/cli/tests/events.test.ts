import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

const items = [
  { kind: "sandbox", id: "sbx_1", version: 2, resource: { name: "job", status: "running" } },
  { kind: "snapshot", id: "snp_1", version: 3, resource: null },
];

test("events prints what has changed since a cursor, page by page, and how to go on", async () => {
  const pages = [
    { items: items.slice(0, 1), cursor: "c2", more: true, reset: null },
    { items: items.slice(1), cursor: "c3", more: false, reset: null },
  ];
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, pages.shift()));
  await using shell = await Shell.forServer(server);
  const { code, stdout, stderr } = await shell.run(
    "events",
    "--after",
    "c1",
    "--kind",
    "sandbox",
    "snapshot",
  );
  expect([code, stdout.toString()]).toEqual([0, "sandbox sbx_1 running job\nsnapshot snp_1 is gone\n"]);
  expect(stderr.toString()).toContain("skerry events --after c3");
  expect(server.received.map(({ url }) => url)).toEqual([
    "/v1/events?after=c1&kind=sandbox%2Csnapshot",
    "/v1/events?after=c2&kind=sandbox%2Csnapshot",
  ]);
});

test("events --follow prints a change a line until its token ends, and tells of a cursor that is too old", async () => {
  await using server = await ScriptedServer.start((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const told = [
      ["reset", { reason: "too_old", cursor: "c1" }],
      ["sandbox", items[0]],
      ["synced", { cursor: "c2", now: "2026-11-20T16:21:09.123Z" }],
      ["error", { code: "unauthorized", message: "The token was revoked." }],
    ] as const;
    for (const [event, data] of told)
      response.write(`event: ${event}\nid: c2\ndata: ${JSON.stringify(data)}\n\n`);
    response.end();
  });
  await using shell = await Shell.forServer(server);
  const { code, stdout, stderr } = await shell.run("events", "--follow", "--after", "c0");
  expect([code, stdout.toString()]).toEqual([1, "sandbox sbx_1 running job\n"]);
  expect(stderr.toString()).toMatch(/too_old[\s\S]*unauthorized/);
});
