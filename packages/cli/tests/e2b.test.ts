import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

test("e2b env prints what leads E2B's clients to the server, with a key that they take", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, {}));
  await using shell = await Shell.forServer(server);
  const { stdout, stderr } = await shell.run("e2b", "env");
  const [api, sandbox, domain, key, ...rest] = stdout.toString().split("\n");
  expect([api, sandbox, domain, rest]).toEqual([
    `export E2B_API_URL='${server.baseUrl}/e2b'`,
    `export E2B_SANDBOX_URL='${server.baseUrl}/e2b/sandbox'`,
    "export E2B_DOMAIN='no-sandbox-domain.invalid'",
    [""],
  ]);
  const [, digits = ""] = /^export E2B_API_KEY='e2b_([0-9a-f]+)'$/.exec(key ?? "") ?? [];
  expect(Buffer.from(digits, "hex").toString()).toMatch(/^sk_/);
  expect(stderr).toContain("sandbox domain");
  const json = await shell.run("e2b", "env", "--json");
  expect(JSON.parse(json.stdout.toString())).toEqual({
    E2B_API_URL: `${server.baseUrl}/e2b`,
    E2B_SANDBOX_URL: `${server.baseUrl}/e2b/sandbox`,
    E2B_DOMAIN: "no-sandbox-domain.invalid",
    E2B_API_KEY: `e2b_${digits}`,
  });
});
