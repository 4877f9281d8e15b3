// What a server elsewhere tells: how it is, and which tokens there are.

import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { hostsRow } from "../src/local/hosts-row.ts";
import { machineRow } from "../src/local/machine-rows.ts";
import type { Machine } from "@skerry/contract/machines/machine";
import { Shell } from "./support/shell.ts";

test("a token that has expired is listed as such", async () => {
  const token = {
    ...{ id: "tok_1", name: "ci", user_id: "usr_1", scopes: ["*"], bound: false },
    ...{ created_at: "2019-01-01T00:00:00.000Z", last_used_at: null },
  };
  const items = [
    { ...token, expires_at: "2020-01-01T00:00:00.000Z" },
    { ...token, expires_at: "2999-01-01T00:00:00.000Z" },
  ];
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 200, { items, next_cursor: null }),
  );
  await using shell = await Shell.forServer(server);
  const { stdout } = await shell.run("auth", "token", "list");
  expect(stdout.toString().match(/\S+ \(expired\)/g)).toEqual(["2020-01-01T00:00:00.000Z (expired)"]);
});

test("status of a server elsewhere says whose it is, and what that server tells", async () => {
  const status = {
    ...{ apps: 0, databases: 0, machines: 2 },
    sandboxes: { creating: 0, running: 3, unreachable: 1, failed: 0, destroying: 0 },
    hosts: { online: 1, offline: 1, draining: 0, maintenance: 0 },
    last_backup: new Date(Date.now() - 3 * 86_400_000).toISOString(),
  };
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, status));
  await using shell = await Shell.forServer(server);
  const shown = await shell.run("status");
  expect([shown.code, shown.stdout.toString()]).toEqual([
    0,
    `server       ${server.baseUrl}
sandboxes    3 running, 1 unreachable
machines     2
hosts        1 online, 1 offline
last backup  3 d ago
`,
  ]);
  expect(server.last).toMatchObject({ method: "GET", url: "/v1/status" });
  const json = await shell.run("status", "--json");
  expect(JSON.parse(json.stdout.toString())).toMatchObject({ server: server.baseUrl, machines: 2 });
});

test.each([
  [{ online: 2 }, "ok", "2 online"],
  [{ online: 1, draining: 1 }, "drained", "1 online, 1 draining; `skerry host activate HOST` lets one"],
  [{ maintenance: 1 }, "drained", "1 maintenance; `skerry host activate HOST` lets one"],
  [{ online: 1, offline: 2, draining: 1 }, "offline", "1 online, 2 offline, 1 draining"],
  [{}, "none", "none"],
] as const)("status of this machine counts the platform's hosts: %j is %s", (counts, state, detail) => {
  const none = { online: 0, offline: 0, draining: 0, maintenance: 0 };
  expect(hostsRow({ ...none, ...counts })).toMatchObject({
    ...{ what: "hosts", state },
    detail: expect.stringContaining(detail) as string,
  });
});

test.each([
  [
    "crash loop",
    { name: "web", reason: "the main process exited with 3" },
    "machine web",
    "exited with 3; `skerry machine logs web`",
  ],
  [
    "unhealthy",
    { name: "web", reason: null, health: { reason: "GET / answered 500" } },
    "machine web",
    "GET / answered 500; ",
  ],
  [
    "failed",
    { name: null, reason: null },
    "machine mch_1",
    "the reason is not known; `skerry machine logs mch_1`",
  ],
])("status of this machine names a machine that needs attention: %s", (state, machine, what, detail) => {
  const row = machineRow(state, { id: "mch_1", ...machine } as Machine);
  expect(row).toEqual({ what, state, detail: expect.stringContaining(detail) as string });
});
