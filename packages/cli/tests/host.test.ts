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
