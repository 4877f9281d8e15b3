// Names and commands that are not there, where it can be told what is meant.

import { expect, test } from "vitest";
import { sandboxInfo, ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { namedServer } from "./support/named-server.ts";
import { Shell } from "./support/shell.ts";

test("a name of the other kind is told, with the command for it", async () => {
  await using server = await namedServer();
  await using shell = await Shell.forServer(server);
  const other: readonly (readonly [words: readonly string[], code: number, command: string])[] = [
    [["sandbox", "exec", "db", "--", "ls"], 125, "skerry machine exec db"],
    [["sandbox", "destroy", "db"], 1, "skerry machine destroy db"],
    [["machine", "show", "web"], 1, "skerry sandbox show web"],
    [["machine", "stop", "web"], 1, "skerry sandbox"],
  ];
  for (const [words, code, command] of other) {
    const ended = await shell.run(...words);
    expect([words, ended.code, ended.stderr]).toEqual([
      words,
      code,
      expect.stringMatching(new RegExp(`it is a .*\\nUse \`${command}\`\\.\\n$`)),
    ]);
  }
});

test("a sandbox that has ended tells how and when, by its name", async () => {
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
  const ended = { ...sandboxInfo, status: "destroyed", destroyed_at: minutesAgo(5) };
  const items = [
    { ...ended, name: "ci", reason: "timeout expired" },
    { ...ended, name: "ci", reason: "destroyed by request", destroyed_at: minutesAgo(60) },
    { ...ended, name: "old", reason: "destroyed by request" },
    { ...ended, name: "bad", status: "failed", destroyed_at: null, reason: "the microVM ended" },
  ];
  await using server = await ScriptedServer.start((response, { url }) => {
    const { pathname, searchParams } = new URL(url, "http://host");
    if (pathname.split("/").length > 3)
      return sendJson(response, 404, {
        code: `${pathname.startsWith("/v1/m") ? "machine" : "sandbox"}_not_found`,
        message: "No.",
      });
    const isEmpty = searchParams.has("alive") || pathname === "/v1/machines";
    sendJson(response, 200, { items: isEmpty ? [] : items, next_cursor: null });
  });
  await using shell = await Shell.forServer(server);
  const at = items[0]?.destroyed_at;
  expect((await shell.run("sandbox", "exec", "ci", "--", "ls")).stderr).toMatch(
    new RegExp(`^error: The sandbox "ci" expired 5 min ago, at ${at}\\. \\(sandbox_expired\\)\nCreate one`),
  );
  expect((await shell.run("cp", "ci:/root/x", ".")).stderr).toContain("(sandbox_expired)");
  expect((await shell.run("sandbox", "get", "old")).stderr).toContain('The sandbox "old" ended 5 min ago');
  expect((await shell.run("sandbox", "get", "bad")).stderr).toContain("has failed: the microVM ended");
  expect((await shell.run("sandbox", "get", "new")).stderr).toContain('There is no sandbox "new".');
});

test("help for what is no command ends with 2, and words of other tools lead to ours", async () => {
  await using server = await namedServer();
  await using shell = await Shell.forServer(server);
  const wrong: readonly (readonly [words: readonly string[], answer: string])[] = [
    [["help", "foo"], "`skerry --help` lists the commands."],
    [["help", "sandbox", "foo"], "Its commands: create"],
    [["help", "auth", "token", "foo"], "Its commands: create, list, revoke"],
    [["help", "rm"], "skerry sandbox destroy ID"],
    [["rm", "web"], "skerry sandbox destroy ID"],
    [["delete", "-f", "web"], "skerry machine destroy ID"],
    [["exec", "web", "--", "ls"], "skerry sandbox exec ID -- COMMAND"],
    [["list"], "skerry ps"],
    [["ls"], "skerry ps"],
    [["stats"], "skerry status"],
    [["watch"], "watch skerry ps"],
    [["sandbox", "run", "base"], "skerry run -- COMMAND"],
    [["sandbox", "ls"], "skerry sandbox list"],
    [["shell", "web"], "skerry sandbox shell ID"],
    [["machine", "ssh", "db"], "skerry machine shell ID"],
    [["attach", "web"], "skerry sandbox executions ID"],
    [["secrets", "set", "A=1"], "skerry secret list"],
    [["volume", "create"], "skerry snapshot"],
    [["tokens"], "skerry auth token list"],
    [["config", "set", "a", "b"], "skerry login"],
    [["update", "web", "--env", "A=1"], "skerry machine update ID"],
    [["sandbox", "exec"], "Write `skerry sandbox exec ID -- COMMAND`"],
    [["machine", "exec"], "Write `skerry machine exec ID -- COMMAND`"],
    [["network"], "skerry sandbox egress ID"],
    [["sandbox", "exec", "-it", "web", "bash"], "skerry sandbox shell ID"],
    [["machine", "exec", "--tty", "db", "--", "bash"], "skerry machine shell ID"],
  ];
  for (const [words, answer] of wrong) {
    const { code, stdout, stderr } = await shell.run(...words);
    expect([words, code, stdout.toString(), stderr]).toEqual([words, 2, "", expect.stringContaining(answer)]);
  }
  expect(server.received).toEqual([]);
  expect((await shell.run("help", "sandbox", "exec")).stdout.toString()).toContain("skerry sandbox exec");
  expect((await shell.run("sandbox", "rm", "web")).stdout.toString()).toBe("web destroyed\n");
  expect((await shell.run("machine", "ps")).stdout.toString()).toContain("db");
  // None of them is among the commands that the help shows.
  expect((await shell.run("--help")).stdout.toString()).not.toMatch(/^ {2}(rm|ls|watch|stats)\b/m);
});

test("the help of the program has its commands in groups, those of users first", async () => {
  await using shell = await Shell.open();
  const help = (await shell.run("--help")).stdout.toString();
  const headings = [...help.matchAll(/^([A-Z].*):$/gm)].map(([, heading]) => heading);
  expect(headings).toEqual([
    "Options",
    "Run",
    "Apps",
    "Build",
    "Your organization and access to it",
    "For the operator of the cluster",
    "Other",
    "Skerry on this machine",
  ]);
  expect(help.indexOf("  sandbox ")).toBeLessThan(help.indexOf("  host "));
});

test("ports to forward are checked before anything is asked", async () => {
  await using server = await namedServer();
  await using shell = await Shell.forServer(server);
  for (const words of ["http", "0", "80:0", "65536", "8080:99999", "1:2:3", "-1", ""]) {
    const { code, stderr } = await shell.run("sandbox", "forward", "web", "8080:80", "--", words);
    expect([words, code, stderr]).toEqual([words, 2, expect.stringContaining("LOCAL:REMOTE")]);
  }
  expect(server.received).toEqual([]);
});

test("with --json a command that is not there is told with what to do", async () => {
  await using shell = await Shell.open();
  const failureOf = async (...words: readonly string[]) => {
    const { code, stderr } = await shell.run(...words);
    return { exit: code, ...(JSON.parse(stderr) as object) };
  };
  const wrong = { exit: 2, code: "invalid_input" };
  expect(await failureOf("sandbox", "crate", "--json")).toMatchObject({
    ...wrong,
    message: "unknown command 'crate'",
    remediation: expect.stringMatching(/^Did you mean create\? Its commands: create, exec/),
  });
  expect(await failureOf("frobnicate", "--json")).toMatchObject({
    ...wrong,
    remediation: "`skerry --help` lists the commands.",
  });
  expect(await failureOf("ps", "--jsn", "--json")).toMatchObject({
    ...wrong,
    remediation: expect.stringContaining("Did you mean --json?"),
  });
});

test.each([
  [["image", "list"], "skerry template list"],
  [["pull", "alpine"], "skerry template build --image"],
  [["init"], "skerry template build FOLDER"],
  [["scale", "web", "3"], "skerry machine update ID --size"],
  [["env", "list"], "skerry machine update ID --env"],
  [["build", "."], "skerry template build ."],
])("%j, which other tools have, is answered with the command to type", async (words, remedy) => {
  await using shell = await Shell.open();
  const { code, stderr } = await shell.run(...words);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`\`${remedy}`)]);
});

test.each([
  [400, "invalid_duration", 2],
  [422, "unknown_size", 2],
  [422, "timeout_too_long", 1],
  [409, "sandbox_busy", 1],
])("what the server refuses with %i %s ends a command with %i", async (status, code, exit) => {
  const refused = { code, message: "It cannot be.", remediation: "Write another." };
  await using server = await ScriptedServer.start((response) => sendJson(response, status, refused));
  await using shell = await Shell.forServer(server);
  const ended = await shell.run("machine", "create", "--template", "base");
  expect([ended.code, ended.stderr]).toEqual([exit, expect.stringContaining(`It cannot be. (${code})`)]);
});

test("the help describes every command in sentences", async () => {
  await using shell = await Shell.open();
  for (const group of [[], ["service"], ["host"], ["sandbox"], ["machine"], ["org"], ["auth"]]) {
    const help = (await shell.run(...group, "--help")).stdout.toString();
    const sections = help.split(/\n\n(?=[A-Z][^\n]*:\n)/).slice(1);
    const groups = sections.filter(
      (section) => !/^(Options|Arguments|Examples|Global Options):/.test(section),
    );
    const entries = groups.flatMap((section) =>
      (section.split("\n\n")[0] ?? "").split(/\n {2}(?=\S)/).slice(1),
    );
    expect(entries.length).toBeGreaterThan(2);
    for (const entry of entries) {
      const [, description] = /^\s*\S.*?(?: {2,}|\n {10,})(\S[^]*)$/.exec(entry) ?? [];
      expect([group, entry, description?.trimEnd()]).toEqual([
        group,
        entry,
        expect.stringMatching(/^[A-Z][^]*\.$/),
      ]);
    }
  }
});

test("an execution can be given by the beginning of its id, and one that is not there is named", async () => {
  const executions = ["exe_01kb3x0q9vt5c7r2m8n4p6w1yz", "exe_01kb4000000000000000000000"];
  await using server = await ScriptedServer.start((response, { method, url }) => {
    const [, , , , , execution] = new URL(url, "http://host").pathname.split("/");
    const items = executions.map((id) => ({ id, command: "sleep", exit: null }));
    if (execution === undefined) return sendJson(response, 200, { items, next_cursor: null });
    const found = items.find(({ id }) => id === execution);
    if (found !== undefined && method === "POST") return sendJson(response, 200, found);
    sendJson(response, 404, { code: "execution_not_found", message: "None." });
  });
  await using shell = await Shell.forServer(server);
  const killed = await shell.run("sandbox", "kill", "web", "01kb4");
  expect([killed.code, killed.stderr]).toEqual([0, ""]);
  expect(server.last.url).toBe(`/v1/sandboxes/web/executions/${executions[1]}/kill`);
  const none = await shell.run("sandbox", "kill", "web", "exe_99");
  expect([none.code, none.stderr]).toEqual([
    1,
    'error: There is no execution "exe_99". (execution_not_found)\n`skerry sandbox executions web` shows those that there are.\n',
  ]);
  expect((await shell.run("sandbox", "attach", "web", "01kb")).stderr).toContain(executions[0]);
  expect((await shell.run("sandbox", "attach", "web", "exe_99")).stderr).toContain("(execution_not_found)");
});

test.each([
  [["members"], "skerry org members"],
  [["metrics"], "skerry machine metrics ID"],
  [["run", "--rm", "-it", "base", "bash"], "skerry sandbox shell ID"],
  [["run", "--timeout", "10", "--", "true"], "10 has no unit: write 10s, 10m or 10h."],
  [["run", "--timeout", "3d", "--", "true"], "There is no unit for days: write 72h."],
  [["host", "recover-disk", "web"], "skerry doctor"],
] as const)("%j is answered with what to type", async (words, answer) => {
  await using shell = await Shell.open();
  const { code, stderr } = await shell.run(...words);
  expect([code, stderr]).toEqual([2, expect.stringContaining(answer)]);
});
