import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sandboxInfo, ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { ended, Shell } from "./support/shell.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-secrets-"));
});
afterAll(async () => rm(folder, { recursive: true }));

const secret = {
  name: "API_KEY",
  version: 2,
  digest: "9f2c4e1a77d0b385",
  set_by: null,
  set_at: "2026-11-20T16:41:10Z",
};

async function serving() {
  const server = await ScriptedServer.start((response) => sendJson(response, 200, secret));
  return { server, shell: await Shell.forServer(server) };
}

const valuesIn = (server: ScriptedServer) =>
  server.received.map(({ url, body }) => [url, (JSON.parse(body.toString()) as { value: string }).value]);

test("a value comes from a pipe without the newline of echo, or from a file as it is", async () => {
  const { server, shell } = await serving();
  await using _ = server;
  await using __ = shell;
  const file = join(folder, "key.pem");
  await writeFile(file, "line\nline\n");
  const setting = (input: string) => {
    const child = shell.start("secret", "set", "API_KEY");
    child.stdin.end(input);
    return ended(child);
  };
  const piped = await setting("two\nlines\n");
  expect([piped.code, piped.stdout.toString()]).toEqual([0, ""]);
  expect((await shell.run("secret", "set", "API_KEY", "--from-file", file)).code).toBe(0);
  const empty = await setting("\n");
  expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining("Nothing came on standard input")]);
  expect(valuesIn(server).map(([, value]) => value)).toEqual(["two\nlines", "line\nline\n"]);
});

test("a value is no argument", async () => {
  const { server, shell } = await serving();
  await using _ = server;
  await using __ = shell;
  expect((await shell.run("secret", "set", "API_KEY", "hunter2")).code).toBe(2);
  expect(server.received).toEqual([]);
});

test("each line of a file becomes a secret, without the quotes around its value", async () => {
  const { server, shell } = await serving();
  await using _ = server;
  await using __ = shell;
  const file = join(folder, ".env");
  await writeFile(file, "# comment\nPLAIN=a=b\nQUOTED=\"two words\"\nSINGLE='x'\n");
  const { code, stdout } = await shell.run("secret", "import", file);
  expect([code, stdout.toString().split("\n").length]).toEqual([0, 4]);
  expect(valuesIn(server)).toEqual([
    ["/v1/secrets/PLAIN", "a=b"],
    ["/v1/secrets/QUOTED", "two words"],
    ["/v1/secrets/SINGLE", "x"],
  ]);
});

test("a VM is created with secrets by their names, and shows the versions that it has", async () => {
  const given = { name: "API_KEY", as: "API_KEY", version: 2, given_at: "2026-11-20T16:41:10Z" };
  const lost = { name: "DB", as: "DATABASE_URL", version: null, given_at: null };
  await using server = await ScriptedServer.start((response, { method }) =>
    sendJson(response, method === "POST" ? 201 : 200, { ...sandboxInfo, secrets: [given, lost] }),
  );
  await using shell = await Shell.forServer(server);
  const flags = ["--secret", "API_KEY", "--secret", "DB=DATABASE_URL"];
  expect((await shell.run("sandbox", "create", "base", ...flags)).code).toBe(0);
  expect(JSON.parse(server.last?.body.toString() ?? "")).toMatchObject({
    secrets: [{ name: "API_KEY" }, { name: "DB", as: "DATABASE_URL" }],
  });
  const shown = (await shell.run("sandbox", "show", sandboxInfo.id)).stdout.toString();
  expect(shown).toMatch(/secrets +API_KEY \(version 2, .* ago\), DB as DATABASE_URL \(deleted\)/);
  for (const wrong of ["A=b=c", "1A", "A=", "=A"])
    expect((await shell.run("sandbox", "create", "base", "--secret", wrong)).code).toBe(2);
});
