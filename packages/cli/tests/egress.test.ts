import { expect, test } from "vitest";
import { egressReport, ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

test("egress --if-version replaces the rules that were read, and says where they have been changed since", async () => {
  const refusal = {
    code: "version_mismatch",
    message: "The egress rules of the sandbox have been changed: they have the version 3 now.",
    remediation: "Read the rules.",
    context: { version: 3, if_match: '"1"' },
  };
  await using server = await ScriptedServer.start((response, { headers }) =>
    headers["if-match"] === '"1"' ? sendJson(response, 412, refusal) : sendJson(response, 200, egressReport),
  );
  await using shell = await Shell.forServer(server);
  const change = ["sandbox", "egress", "sbx_0", "--egress-mode", "deny_all"];
  expect((await shell.run(...change, "--if-version", "2")).code).toBe(0);
  expect(server.last.headers["if-match"]).toBe('"2"');
  const { code, stderr } = await shell.run(...change, "--if-version", "1");
  expect([code, stderr]).toEqual([1, `error: ${refusal.message} (version_mismatch)\nRead the rules.\n`]);
  await shell.run(...change);
  expect(server.last.headers["if-match"]).toBeUndefined();
  for (const wrong of [
    [...change, "--if-version", "two"],
    ["sandbox", "egress", "sbx_0", "--if-version", "2"],
  ])
    expect((await shell.run(...wrong)).code).toBe(2);
  expect(server.received).toHaveLength(3);
});

test("--egress-inject says which requests get a secret, in a header, a parameter or a password", async () => {
  const rules = [
    { host: "api.example.com", secret: "API_KEY", header: "Authorization", format: "Bearer {}" },
    { host: "*.example.com", secret: "KEY", query: "key" },
    { host: "git.example.com", secret: "TOKEN", basic_user: "x-token" },
  ];
  const report = {
    ...{ ...egressReport, inject: rules },
    injected: [{ host: "api.example.com", secret: "API_KEY", count: 3, last_at: "2026-11-20T16:22:00.000Z" }],
  };
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, report));
  await using shell = await Shell.forServer(server);
  const words = [
    "api.example.com Authorization: Bearer {API_KEY}",
    "*.example.com ?key={KEY}",
    "git.example.com basic x-token:{TOKEN}",
  ];
  const flags = words.flatMap((word) => ["--egress-inject", word]);
  const { code, stdout } = await shell.run(
    "sandbox",
    "egress",
    "sbx_0",
    "--egress-mode",
    "allow_all",
    ...flags,
  );
  expect(code).toBe(0);
  expect(JSON.parse(server.last.body.toString())).toEqual({ mode: "allow_all", inject: rules });
  // As they were given.
  for (const word of words) expect(stdout.toString()).toContain(word);
  expect(stdout.toString()).toMatch(/API_KEY +api.example.com +3/);
  for (const wrong of [
    "api.example.com",
    "api.example.com Authorization: Bearer",
    "a ?key={A}{B}",
    "a ?key=x{A}",
  ])
    expect((await shell.run("sandbox", "egress", "sbx_0", "--egress-inject", wrong)).code).toBe(2);
  expect(server.received).toHaveLength(1);
});
