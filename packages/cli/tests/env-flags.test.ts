import { execFile } from "node:child_process";
import { chmod, copyFile, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { sandboxInfo, ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

/** A server whose answer to each request is the same sandbox. */
const serverOf = () =>
  ScriptedServer.start((response) => sendJson(response, 201, { ...sandboxInfo, status: "ready" }));

const create = ["sandbox", "create", "--template", "base"];

async function openShell(server: ScriptedServer): Promise<Shell> {
  return Shell.open({
    ...{ SKERRY_API_URL: server.baseUrl, SKERRY_API_TOKEN: "sk_test" },
    ...{ API_KEY: "s3cret=", EMPTY: "" },
  });
}

test("variables come from arguments, from the environment and from files, and those of arguments win", async () => {
  await using server = await serverOf();
  await using shell = await openShell(server);
  await writeFile(join(shell.folder, "one.env"), '\uFEFF# first\r\n\r\nA=one\r\nB="two words"  \r\n  C=\r\n');
  await writeFile(join(shell.folder, "two.env"), "A=later\nD=from file\n__proto__=x");
  const files = ["--env-file", "one.env", "--env-file=two.env"];
  const pairs = ["--env", "API_KEY", "--env", "EMPTY", "--env", "D=a=b"];
  const answer = await shell.run(...create, ...pairs, ...files);
  expect(answer).toMatchObject({ code: 0 });
  const [body] = server.received.map((request) => request.body.toString());
  expect(Object.entries(JSON.parse(body ?? "").env)).toEqual([
    ["A", "later"],
    ["B", '"two words"  '],
    ["C", ""],
    ["D", "a=b"],
    ["__proto__", "x"],
    ["API_KEY", "s3cret="],
    ["EMPTY", ""],
  ]);
});

test.each([
  [["--env", "NOT_SET"], "NOT_SET from the environment, where it is not set"],
  [["--env", "=x"], "must have the form KEY=VALUE"],
  [["--env-file", "missing.env"], "missing.env"],
  [["--env-file", "bad.env"], "bad.env, line 3 is not of the form KEY=VALUE"],
])("%j is refused before a request, and shows no secret", async (flags, said) => {
  await using server = await serverOf();
  await using shell = await openShell(server);
  await writeFile(join(shell.folder, "bad.env"), "# one\nA=b\nexport TOKEN=hunter2\n");
  for (const begin of [
    create,
    ["machine", "create", "--template", "base"],
    ["sandbox", "exec", "sbx_0"],
    ["run"],
  ]) {
    const rest = begin[1] === "create" ? [] : ["-n", "--", "true"];
    const answer = await shell.run(...begin, ...flags, ...rest);
    expect(answer.stderr).toContain("error: ");
    expect(answer.stderr).toContain(said);
    expect(answer.stderr).not.toContain("hunter2");
    expect(answer.stderr).not.toContain("Put `--` before the command");
    expect(answer.code).not.toBe(0);
  }
  expect(server.received).toEqual([]);
});

test("the program's launcher leaves each option to the program", async () => {
  await using shell = await Shell.open();
  const root = join(shell.folder, "root");
  for (const folder of ["bin", "dist", "node/bin"]) await mkdir(join(root, folder), { recursive: true });
  await copyFile(join(import.meta.dirname, "../../../bin/skerry"), join(root, "bin/skerry"));
  await chmod(join(root, "bin/skerry"), 0o755);
  await symlink(process.execPath, join(root, "node/bin/node"));
  await writeFile(join(root, "dist/skerry.js"), "console.log(JSON.stringify(process.argv.slice(2)));");
  const args = ["run", "--env-file", "missing.env", "--env-file-if-exists=x", "--", "--env-file=y", "a b"];
  const { stdout } = await promisify(execFile)(join(root, "bin/skerry"), args, { cwd: root });
  expect(JSON.parse(stdout)).toEqual(args);
});
