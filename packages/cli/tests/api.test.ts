import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

test("a call is made by its name, with fields of the kinds that its declaration has", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 201, { id: "tok_1" }));
  await using shell = await Shell.forServer(server);
  const fields = ["name=7", "expires_in=24h", "scopes=sandboxes:read", "scopes=hosts:read", "bound=true"];
  const words = fields.flatMap((field) => ["--field", field]);
  const { code, stdout } = await shell.run("api", "tokens.create", ...words);
  expect([code, JSON.parse(stdout.toString())]).toEqual([0, { id: "tok_1" }]);
  expect([server.last.method, server.last.url]).toEqual(["POST", "/v1/auth/tokens"]);
  expect(JSON.parse(server.last.body.toString())).toEqual({
    name: "7",
    expires_in: "24h",
    scopes: ["sandboxes:read", "hosts:read"],
    bound: true,
  });
});

test("null is null, and a file of fields is sent with those that are given besides", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, {}));
  await using shell = await Shell.forServer(server);
  const file = join(await mkdtemp(join(tmpdir(), "skerry-api-")), "limits.json");
  await writeFile(file, '{"quota_sandboxes": 5, "quota_machines": 7}');
  await shell.run(
    "api",
    "organizations.setLimits",
    "org_1",
    "--from-file",
    file,
    "-f",
    "quota_sandboxes=null",
  );
  await rm(dirname(file), { recursive: true });
  expect(JSON.parse(server.last.body.toString())).toEqual({ quota_sandboxes: null, quota_machines: 7 });
});

test("fields of a query go into it, and every page of a list is read", async () => {
  await using server = await ScriptedServer.start((response, { url }) =>
    sendJson(response, 200, {
      items: [{ id: url }],
      next_cursor: url.includes("cursor=") ? null : "next",
    }),
  );
  await using shell = await Shell.forServer(server);
  const { stdout } = await shell.run("api", "snapshots.list", "-f", "of=machine");
  expect(JSON.parse(stdout.toString())).toEqual({
    items: [{ id: "/v1/snapshots?of=machine" }, { id: "/v1/snapshots?of=machine&cursor=next" }],
    next_cursor: null,
  });
});

test("without a call it lists those that there are, and wrong ones are told without a request", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, {}));
  await using shell = await Shell.forServer(server);
  const listed = await shell.run("api");
  expect(listed.stdout.toString()).toMatch(
    /^organizations\.update +id +Change an organization +name egress_default audit_details$/m,
  );
  const faults: readonly (readonly [readonly string[], RegExp])[] = [
    [["constructor"], /There is no call "constructor"/],
    [["hosts.drain"], /The call hosts\.drain takes id, and 0 came/],
    [["hosts.list", "hst_1"], /The call hosts\.list takes no arguments, and 1 came/],
    [["tokens.create", "-f", "name"], /"name" is no field/],
    [["cache.clear", "-f", "host=hst_1"], /The call cache\.clear has no field "host"/],
    [["hosts.list", "-f", "status=offline"], /The call hosts\.list has no field "status"/],
    [["tokens.create", "--from-file", "/dev/null"], /The fields are no JSON object/],
  ];
  for (const [words, message] of faults) {
    const { code, stderr } = await shell.run("api", ...words);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  }
  expect(server.received).toHaveLength(0);
});
