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
