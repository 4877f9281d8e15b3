// `skerry registry`: the password comes from standard input, and is printed nowhere.

import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { ended, Shell } from "./support/shell.ts";

const credential = { host: "registry.example:5000", username: "me", set_by: null, set_at: "2026-11-20" };

test("login sends what comes on standard input, and neither it nor list prints it", async () => {
  await using server = await ScriptedServer.start((response, { method }) => {
    if (method === "DELETE") return void response.writeHead(204).end();
    sendJson(response, 200, method === "PUT" ? credential : { items: [credential] });
  });
  await using shell = await Shell.forServer(server);
  const login = ["registry", "login", "Registry.Example:5000", "--username", "me"];
  const child = shell.start(...login);
  child.stdin.end("the secret\n");
  const { code, stdout, stderr } = await ended(child);
  expect(code).toBe(0);
  expect(server.last.url).toBe("/v1/registry-credentials/registry.example%3A5000");
  expect(JSON.parse(server.last.body.toString())).toEqual({ username: "me", password: "the secret" });
  expect(`${stdout.toString()}${stderr}`).not.toContain("the secret");
  expect((await shell.run("registry", "list")).stdout.toString()).toContain("registry.example:5000");
  expect((await shell.run("registry", "logout", "registry.example:5000")).code).toBe(0);
  expect(server.last.method).toBe("DELETE");
});

test("login without a password says so, and asks no server", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, credential));
  await using shell = await Shell.forServer(server);
  const { code, stderr } = await shell.run("registry", "login", "registry.example", "--username", "me");
  expect(code).toBe(2);
  expect(stderr).toContain("no_password");
  expect(server.received).toEqual([]);
});
