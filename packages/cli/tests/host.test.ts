import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

const token = `jtk_01kb3x4v6x8z0b2d4f6h8j0m2n.${"a".repeat(43)}.${"b".repeat(43)}`;

function server() {
  return ScriptedServer.start((response, { method }) => {
    if (method === "DELETE") return response.writeHead(204).end();
    return sendJson(response, 201, {
      id: token.split(".")[0],
      token,
      expires_at: "2026-11-20T17:21:09.123Z",
    });
  });
}

test("a join token is alone on standard output", async () => {
  await using scripted = await server();
  await using shell = await Shell.forServer(scripted);
  const run = await shell.run("host", "token");
  expect(run.stdout.toString()).toBe(`${token}\n`);
  expect(run.stderr).toContain("until 2026-11-20T17:21:09.123Z");
});

test("a host with VMs is removed only where it is said so", async () => {
  await using scripted = await server();
  await using shell = await Shell.forServer(scripted);
  expect((await shell.run("host", "remove", "hst_1")).code).toBe(0);
  expect((await shell.run("host", "remove", "hst_1", "--force")).code).toBe(0);
  expect(scripted.received.map(({ url }) => url)).toEqual(["/v1/hosts/hst_1", "/v1/hosts/hst_1?force=true"]);
});

test("what cannot be right about a join is said before anything is done", async () => {
  await using shell = await Shell.open({ SKERRY_STATE: "/nonexistent/skerry" });
  const join = (...flags: readonly string[]) => shell.run("host", "join", ...flags);
  const cases: readonly (readonly [readonly string[], string])[] = [
    [["--token", token], "--control"],
    [["--control", "http://127.0.0.1:1", "--token", "sk_something"], "is not a join token"],
    [["--control", "here", "--token", token], "--control is not an address"],
    [["--control", "http://127.0.0.1:1", "--token", token, "--name", "a b"], "cannot be the name of a host"],
    [["--control", "http://127.0.0.1:1", "--token", token, "--address", "10.0.0.1"], "--address is not"],
  ];
  for (const [flags, message] of cases) {
    const run = await join(...flags);
    expect([run.code, run.stderr], message).toEqual([2, expect.stringContaining(message)]);
  }
});

test("a change of the authority is begun, and shown with what it waits for", async () => {
  const authority = {
    fingerprint: "b".repeat(43),
    created_at: "2026-11-20T16:20:00.000Z",
    rotation: "announcing",
    waits_for: [{ host_id: "hst_1", name: "rack-7", status: "offline" }],
  };
  await using scripted = await ScriptedServer.start((response) => sendJson(response, 200, authority));
  await using shell = await Shell.forServer(scripted);
  const begun = await shell.run("host", "rotate-authority");
  expect([begun.code, scripted.last.method, scripted.last.url]).toEqual([0, "POST", "/v1/authority/rotate"]);
  expect(JSON.parse(scripted.last.body.toString())).toEqual({});
  await shell.run("host", "rotate-authority", "--leave-offline");
  expect(JSON.parse(scripted.last.body.toString())).toEqual({ leave_offline: true });
  const shown = await shell.run("host", "authority");
  expect([scripted.last.method, scripted.last.url]).toEqual(["GET", "/v1/authority"]);
  expect(shown.stdout.toString()).toMatch(/announcing\n.*rack-7 \(offline\)/s);
  expect(JSON.parse((await shell.run("host", "authority", "--json")).stdout.toString())).toEqual(authority);
});
