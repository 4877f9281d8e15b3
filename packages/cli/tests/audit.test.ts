import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

test("audit list filters, shows who did what, and says when there is more", async () => {
  const event = {
    id: "aud_1",
    at: "2026-11-20T16:21:09.123Z",
    actor: { kind: "user", user_id: "usr_1", token_id: "tok_1", service: null, address: "192.0.2.1" },
    action: "sandbox.destroy",
    resource: { kind: "sandbox", id: "sbx_1" },
    detail: null,
    outcome: "denied",
    code: "forbidden",
    count: 1,
    request_id: "req_1",
    organization_id: "org_1",
  };
  const page: { items: object[]; next_cursor: string } = {
    items: [event, { ...event, id: "aud_0", count: 399 }],
    next_cursor: "more",
  };
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, page));
  await using shell = await Shell.forServer(server);
  const flags = [
    "--action",
    "sandbox.destroy",
    "--resource",
    "sbx_1",
    "--user",
    "usr_1",
    "--token-id",
    "tok_1",
  ];
  const times = ["--since", "2026-11-20", "--until", "2026-11-21T00:00:00Z", "--limit", "1"];
  const { code, stdout, stderr } = await shell.run("audit", "list", ...flags, ...times);
  expect(code).toBe(0);
  expect(stdout.toString().split("\n")[1]?.split(/ {2,}/)).toEqual([
    "2026-11-20T16:21:09.123Z",
    "sandbox.destroy",
    "sbx_1",
    "denied (forbidden)",
    "usr_1",
    "tok_1",
    "192.0.2.1",
  ]);
  expect(stdout.toString().split("\n")[2]).toContain("denied (forbidden), 399 times ");
  expect(stderr).toContain("There are more");
  const query = new URL(server.last.url, server.baseUrl).searchParams;
  expect(Object.fromEntries(query)).toEqual({
    action: "sandbox.destroy",
    resource_id: "sbx_1",
    user_id: "usr_1",
    token_id: "tok_1",
    since: "2026-11-20",
    until: "2026-11-21T00:00:00Z",
    limit: "1",
  });
  const json = await shell.run("audit", "list", "--json");
  expect(JSON.parse(json.stdout.toString())).toEqual(page);

  page.items = [event, { ...event, detail: "make test" }];
  const detailed = await shell.run("audit", "list");
  expect(detailed.stdout.toString().split("\n")[0]).toContain("DETAIL");
  expect(detailed.stdout.toString()).toContain("make test");
});
