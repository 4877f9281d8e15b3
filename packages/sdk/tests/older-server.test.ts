import { expect, test } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import { olderServerRemedy } from "../src/errors/older-server.ts";
import { Skerry } from "../src/skerry.ts";
import { ScriptedServer } from "./support/scripted-server.ts";

test.each([
  ["0.1.0", "0.2.0", true],
  ["0.9.0", "0.10.0", true],
  ["0.1.0", "1.0.0", true],
  ["0.2.0", "0.2.1", true],
  ["0.1.0", "0.1.0", false],
  ["0.2.0", "0.1.9", false],
  ["1.0.0", "0.9.9", false],
  ["the newest", "0.1.0", false],
  ["", "0.1.0", false],
  [null, "0.1.0", false],
])("a server of version %s is older than a client of version %s: %s", (server, own, isOlder) => {
  expect(olderServerRemedy("unknown_field", server, own) !== undefined).toBe(isOlder);
  expect(olderServerRemedy("bad_request", server, own)).toBeUndefined();
});

const refusal = {
  ...{ code: "unknown_field", message: 'There is no field "stdin".', request_id: "req_1" },
  remediation: "Check the spelling.",
};

async function remedyFrom(headers: Record<string, string>): Promise<unknown> {
  await using server = await ScriptedServer.start((response) => {
    response.writeHead(400, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(refusal));
  });
  const client = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  const error: unknown = await client.sandboxes
    .create({ template: "base" })
    .catch((caught: unknown) => caught);
  return (error as { readonly remediation?: unknown }).remediation;
}

test("a field that an older server does not know is no spelling mistake", async () => {
  expect(await remedyFrom({ "skerry-version": "0.0.1" })).toBe(
    `The server is version 0.0.1 and this client ${packageJson.version}, which may know more: upgrade the server, or use the client that the server hands out.`,
  );
  expect(await remedyFrom({ "skerry-version": packageJson.version })).toBe("Check the spelling.");
  expect(await remedyFrom({})).toBe("Check the spelling.");
});
