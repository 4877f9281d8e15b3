import { expect, test } from "vitest";
import {
  machineInfo,
  sandboxInfo,
  ScriptedServer,
  sendJson,
} from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

const SANDBOX = "sbx_01kb3x0q9vt5c7r2m8n4p6w1yz";
const MACHINE = "mch_01kb3x0q9vt5c7r2m8n4p6w1yz";
const USER = "usr_01kb3x0q9vt5c7r2m8n4p6w1yz";
const TOKEN = "tok_01kb3x0q9vt5c7r2m8n4p6w1yz";

test("audit list filters, shows who did what, and says when there is more", async () => {
  const event = {
    id: "aud_1",
    at: "2026-11-20T16:21:09.123Z",
    actor: {
      ...{ kind: "user", service: null, address: "192.0.2.1" },
      ...{ user_id: "usr_1", user_name: "Ada", token_id: "tok_1", token_name: null },
    },
    action: "sandbox.destroy",
    resource: { kind: "sandbox", id: "sbx_1", name: "web" },
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
  const flags = ["--action", "sandbox.destroy", "--resource", SANDBOX, "--user", USER, "--token-id", TOKEN];
  const times = ["--since", "2026-11-20", "--until", "2026-11-21T00:00:00Z", "--limit", "1"];
  const { code, stdout, stderr } = await shell.run("audit", "list", ...flags, ...times);
  expect(code).toBe(0);
  expect(stdout.toString().split("\n")[1]?.split(/ {2,}/)).toEqual([
    "2026-11-20T16:21:09.123Z",
    "sandbox.destroy",
    "sandbox web",
    "denied (forbidden)",
    "Ada",
    "tok_1",
    "192.0.2.1",
  ]);
  expect(stdout.toString().split("\n")[2]).toContain("denied (forbidden), 399 times ");
  expect(stderr).toContain("There are more");
  const query = new URL(server.last.url, server.baseUrl).searchParams;
  expect(Object.fromEntries(query)).toEqual({
    action: "sandbox.destroy",
    resource_id: SANDBOX,
    user_id: USER,
    token_id: TOKEN,
    since: "2026-11-20",
    until: "2026-11-21T00:00:00Z",
    limit: "1",
  });
  const ids = (await shell.run("audit", "list", "--ids")).stdout.toString().split("\n")[1];
  expect(ids?.split(/ {2,}/).slice(2, 6)).toEqual(["sbx_1", "denied (forbidden)", "usr_1", "tok_1"]);
  const json = await shell.run("audit", "list", "--json");
  expect(JSON.parse(json.stdout.toString())).toEqual(page);

  page.items = [event, { ...event, detail: "make test" }];
  const detailed = await shell.run("audit", "list");
  expect(detailed.stdout.toString().split("\n")[0]).toContain("DETAIL");
  expect(detailed.stdout.toString()).toContain("make test");
});

/** A sandbox `web` that has ended, a machine `db`, the member Ada and the token `ci`; the operator's lists are refused. */
function namedResources() {
  return ScriptedServer.start((response, { url }) => {
    const { pathname, searchParams } = new URL(url, "http://host");
    const isAlive = searchParams.get("alive") === "true";
    const lists: Readonly<Record<string, readonly object[]>> = {
      "/v1/sandboxes": isAlive ? [] : [{ ...sandboxInfo, id: SANDBOX, name: "web" }],
      "/v1/machines": [{ ...machineInfo, id: MACHINE, name: "db" }],
      "/v1/orgs": [],
      "/v1/orgs/org_1/members": [{ user_id: USER, name: "Ada", email: null }],
      "/v1/auth/tokens": [{ id: TOKEN, name: "ci" }],
      "/v1/audit": [],
    };
    if (pathname === "/v1/auth/me") return sendJson(response, 200, { organization_id: "org_1" });
    const items = lists[pathname];
    if (items === undefined) return sendJson(response, 403, { code: "forbidden", message: "No." });
    return sendJson(response, 200, { items, next_cursor: null });
  });
}

test("audit list takes names and beginnings of ids, also of what has ended", async () => {
  await using server = await namedResources();
  await using shell = await Shell.forServer(server);
  const asked = async (...flags: readonly string[]) => {
    const { code, stderr } = await shell.run("audit", "list", ...flags);
    expect([flags, code, stderr]).toEqual([flags, 0, ""]);
    return Object.fromEntries(new URL(server.last.url, server.baseUrl).searchParams);
  };
  expect(await asked("--resource", "web")).toEqual({ resource_id: SANDBOX });
  expect(await asked("--resource", "db")).toEqual({ resource_id: MACHINE });
  expect(await asked("--resource", "Ada")).toEqual({ resource_id: USER });
  expect(await asked("--resource", "mch_01kb")).toEqual({ resource_id: MACHINE });
  expect(await asked("--user", "Ada", "--token-id", "ci")).toEqual({ user_id: USER, token_id: TOKEN });
  expect(await asked("--user", "usr_01kb3x")).toEqual({ user_id: USER });
  const missing = await shell.run("audit", "list", "--resource", "nothing");
  expect([missing.code, missing.stderr]).toEqual([
    1,
    expect.stringContaining('is called "nothing". (not_found)'),
  ]);
  // All but the host begin so.
  const several = await shell.run("audit", "list", "--resource", "01kb3x0q9vt5c7r2m8n4p6w1yz");
  expect(several.stderr).toContain("(ambiguous)");
});

test("audit list counts durations back from now, and leaves times as they are", async () => {
  await using server = await namedResources();
  await using shell = await Shell.forServer(server);
  const before = Date.now();
  expect((await shell.run("audit", "list", "--since", "1h30m", "--until", "1s")).code).toBe(0);
  const query = new URL(server.last.url, server.baseUrl).searchParams;
  const since = Date.parse(query.get("since") ?? "");
  expect(since).toBeGreaterThanOrEqual(before - 90 * 60_000);
  expect(since).toBeLessThanOrEqual(Date.now() - 90 * 60_000);
  expect(Date.parse(query.get("until") ?? "")).toBeGreaterThan(since);
  await shell.run("audit", "list", "--since", "yesterday");
  expect(new URL(server.last.url, server.baseUrl).searchParams.get("since")).toBe("yesterday");
});

test("export writes what comes to standard output as it is, with the filters of the list", async () => {
  await using server = await ScriptedServer.start((response, { url }) =>
    url.includes("csv") ? response.end("id,at\r\naud_1,x\r\n") : response.end('{"id":"aud_1"}\n'),
  );
  await using shell = await Shell.forServer(server);
  const csv = await shell.run(
    "audit",
    "export",
    "--format",
    "csv",
    "--since",
    "2026-11-20",
    "--action",
    "a.b",
  );
  expect([csv.code, csv.stdout.toString()]).toEqual([0, "id,at\r\naud_1,x\r\n"]);
  expect(server.last.url).toBe("/v1/audit/export?action=a.b&since=2026-11-20&format=csv");
  const json = await shell.run("audit", "export");
  expect([json.stdout.toString(), server.last.url]).toEqual([
    '{"id":"aud_1"}\n',
    "/v1/audit/export?format=ndjson",
  ]);
  expect((await shell.run("audit", "export", "--format", "xml")).code).toBe(2);
});

test("an export that breaks off fails, and what came of it is there", async () => {
  await using server = await ScriptedServer.start((response) => {
    response.writeHead(200).write('{"id":"aud_1"}\n', () => response.destroy());
  });
  await using shell = await Shell.forServer(server);
  const { code, stdout, stderr } = await shell.run("audit", "export");
  expect([code, stdout.toString()]).toEqual([1, '{"id":"aud_1"}\n']);
  expect(stderr).toContain("Lost the connection");
});
