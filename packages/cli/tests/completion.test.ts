import { execFile } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { sandboxInfo, ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { ids, namedServer } from "./support/named-server.ts";
import { Shell } from "./support/shell.ts";

async function completed(
  shell: Shell,
  server: { readonly baseUrl: string },
  line: readonly string[],
): Promise<string[]> {
  await writeFile(
    join(shell.folder, "skerry"),
    `#!/bin/sh\nexec '${process.execPath}' '${inject("cliProgram")}' "$@"\n`,
  );
  await chmod(join(shell.folder, "skerry"), 0o755);
  const words = ["skerry", ...line].map((word) => `'${word}'`).join(" ");
  const script = `set -eu; source <(skerry completion bash); COMP_WORDS=(${words}); COMP_CWORD=${line.length}; _skerry; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await promisify(execFile)("bash", ["-c", script], {
    env: {
      PATH: `${shell.folder}:/usr/bin:/bin`,
      HOME: shell.folder,
      SKERRY_API_URL: server.baseUrl,
      SKERRY_API_TOKEN: "sk_test",
    },
  });
  return stdout.trim().split("\n");
}

test("bash completes commands, flags, their values, ids and names", async () => {
  await using server = await namedServer();
  await using shell = await Shell.forServer(server);
  expect(await completed(shell, server, ["sand"])).toEqual(["sandbox"]);
  expect(await completed(shell, server, [""])).toEqual(
    expect.arrayContaining(["sandbox", "machine", "ps", "up", "doctor"]),
  );
  expect(await completed(shell, server, ["sandbox", "de"])).toEqual(["destroy"]);
  expect(await completed(shell, server, ["sandbox", "create", "--egress-m"])).toEqual(["--egress-mode"]);
  expect(await completed(shell, server, ["sandbox", "create", "--egress-mode", ""])).toEqual([
    "allow_all",
    "deny_all",
  ]);
  expect(await completed(shell, server, ["--org", "sandbox", "sandbox", "de"])).toEqual(["destroy"]);
  expect(await completed(shell, server, ["sandbox", "show", "w"])).toEqual(["web"]);
  expect(await completed(shell, server, ["sandbox", "destroy", "sbx_01kb4"])).toEqual([ids[2]]);
  expect(await completed(shell, server, ["logs", "d"])).toEqual(["db"]);
});

/** Lists of everything that has names. */
function everything() {
  const lists: Readonly<Record<string, readonly object[]>> = {
    "/v1/orgs": [{ id: "org_01kb3", name: "acme" }],
    "/v1/orgs/org_01kb3/members": [{ user_id: "usr_01kb3", name: "ada", email: "ada@example.org" }],
    "/v1/auth/tokens": [{ id: "tok_01kb3", name: "ci" }],
    "/v1/hosts": [{ id: "hst_01kb3", name: "rack-7" }],
    "/v1/templates": [{ name: "base" }, { name: "$(id)" }],
    "/v1/sizes": [{ name: "shared-cpu-1x" }],
    "/v1/sandboxes": [{ ...sandboxInfo, id: "sbx_01kb3", name: "web" }],
    "/v1/machines": [],
  };
  return ScriptedServer.start((response, { url }) => {
    const { pathname } = new URL(url, "http://host");
    if (pathname === "/v1/auth/me") return sendJson(response, 200, { organization_id: "org_01kb3" });
    sendJson(response, 200, { items: lists[pathname] ?? [], next_cursor: null });
  });
}

test("each argument and flag is completed with what can stand there", async () => {
  await using server = await everything();
  await using shell = await Shell.forServer(server);
  const found: readonly (readonly [line: readonly string[], words: readonly string[]])[] = [
    [
      ["org", "show", ""],
      ["org_01kb3", "acme"],
    ],
    [
      ["org", "remove-member", ""],
      ["usr_01kb3", "ada"],
    ],
    [["auth", "token", "revoke", "c"], ["ci"]],
    [["host", "drain", "r"], ["rack-7"]],
    [["template", "show", ""], ["base"]],
    [["sandbox", "create", "--template", ""], ["base"]],
    [["sandbox", "create", "--size", "sh"], ["shared-cpu-1x"]],
    [["ps", "--org", "a"], ["acme"]],
    [["audit", "list", "--action", "token.c"], ["token.create"]],
    [["cp", "w"], ["web:"]],
    [["cp", "./x", "sbx"], ["sbx_01kb3:"]],
    // The way bash takes a word with colons apart.
    [["cp", "web", ":", "/root/x", "w"], ["web:"]],
    [["--api-url", "http", ":", "//127.0.0.1", "sandbox", "show", "w"], ["web"]],
  ];
  for (const [line, words] of found)
    expect([line, await completed(shell, server, line)]).toEqual([line, words]);
});

test("files of this machine are offered only where one can stand", async () => {
  await using server = await everything();
  await using shell = await Shell.forServer(server);
  const codes: readonly (readonly [line: readonly string[], code: number])[] = [
    [["cp", "./x"], 0],
    [["sandbox", "upload", "web", ""], 0],
    [["cp", "web:/ro"], 3],
    [["cp", "web", ":"], 3],
    [["cp", "web", ":", "/ro"], 3],
    [["cp", "web", ":", ""], 0],
    [["org", "show", "x"], 3],
    [["sandbox", "nonsense"], 3],
    [["sandbox", "create", "--name", ""], 0],
  ];
  for (const [line, code] of codes) {
    const ended = await shell.run("completion", "words", "--", ...line);
    expect([line, ended.code, ended.stderr]).toEqual([line, code, ""]);
  }
});

test("a name that a shell would obey is never completed", async () => {
  const evil = ["$(touch /tmp/x)", "`id`", "a;b", "a b", "-rf", "a'b", "*", "~", "a\nb"];
  const items = evil.map((name, index) => ({ ...sandboxInfo, id: `${sandboxInfo.id}${index}`, name }));
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 200, { items, next_cursor: null }),
  );
  await using shell = await Shell.forServer(server);
  expect(await completed(shell, server, ["sandbox", "show", ""])).toEqual(items.map(({ id }) => id));
});

test("without a server there is nothing to complete, and no error on the user's command line", async () => {
  await using shell = await Shell.open();
  const { stdout, stderr } = await shell.run("completion", "words", "--", "sandbox", "show", "");
  expect([stdout.toString(), stderr]).toEqual(["", ""]);
});

test.each(["zsh", "fish"])("%s has its script too", async (name) => {
  await using shell = await Shell.open();
  const { code, stdout } = await shell.run("completion", name);
  expect([code, stdout.toString()]).toEqual([0, expect.stringContaining("skerry completion words --")]);
  expect((await shell.run("completion", "csh")).code).toBe(2);
});
