import { expect, test } from "vitest";
import { sandboxInfo, ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { ids, namedServer } from "./support/named-server.ts";
import { Shell } from "./support/shell.ts";

test("a sandbox is found by its name, by the beginning of its id, and by it without sbx_", async () => {
  await using server = await namedServer();
  await using shell = await Shell.forServer(server);
  for (const text of ["web", "sbx_01kb4", "01kb4", ids[2] ?? ""]) {
    const { stdout } = await shell.run("sandbox", "show", text, "--json");
    expect([text, (JSON.parse(stdout.toString()) as { id: string }).id]).toEqual([text, ids[2]]);
  }
});

test("a beginning that several ids have is refused, and names them", async () => {
  await using server = await namedServer();
  await using shell = await Shell.forServer(server);
  const { code, stdout, stderr } = await shell.run("sandbox", "destroy", "01kb3x", "web");
  expect([code, stdout.toString()]).toEqual([1, "web destroyed\n"]);
  expect(stderr).toBe(
    `error: "01kb3x" can mean 2 of them. (ambiguous)\nGive more of the id of the sandbox:\n${ids[0]}\n${ids[1]}\n`,
  );
});

test("what is not there is named, and what is of another kind is told", async () => {
  await using server = await namedServer();
  await using shell = await Shell.forServer(server);
  const missing = await shell.run("sandbox", "destroy", "web", "bad", "sbx_01kb4");
  expect([missing.code, missing.stdout.toString()]).toEqual([1, `web destroyed\n${ids[2]} destroyed\n`]);
  expect(missing.stderr).toMatch(/^error: There is no sandbox "bad"\. \(sandbox_not_found\)\n/);
  const shown = await shell.run("sandbox", "get", "mch_01kb3x7q9vt5c7r2m8n4p6w1yz");
  expect(shown.stderr).toContain("This is the id of a machine: use `skerry machine`.");
});

test("a name cannot lead the request to another place", async () => {
  await using server = await namedServer();
  await using shell = await Shell.forServer(server);
  for (const text of ["../machines/db", "a/b?x=y#z", "%2e%2e"]) {
    const { code } = await shell.run("sandbox", "get", text);
    expect([text, code]).toEqual([text, 1]);
  }
  for (const { url } of server.received)
    expect(url).toMatch(/^\/v1\/(sandboxes(\/[^/?]+|\?alive=true|\?limit=500)|machines\?alive=true)$/);
});

test("ps has sandboxes and machines in one table, and logs takes a machine's name", async () => {
  await using server = await namedServer();
  await using shell = await Shell.forServer(server);
  const { stdout } = await shell.run("ps");
  expect(stdout.toString()).toMatch(/^ID +NAME +TEMPLATE +SIZE +STATUS +CREATED +EXPIRES\n/);
  for (const id of [...ids, "mch_01kb3x7q9vt5c7r2m8n4p6w1yz"]) expect(stdout.toString()).toContain(id);
  expect(server.received.map(({ url }) => url).toSorted()).toEqual([
    "/v1/machines?alive=true&owner=none",
    "/v1/sandboxes?alive=true&owner=none",
  ]);
  const json = JSON.parse((await shell.run("ps", "--json")).stdout.toString()) as {
    sandboxes: unknown[];
    machines: unknown[];
  };
  expect([json.sandboxes.length, json.machines.length]).toEqual([3, 1]);
  expect((await shell.run("logs", "db")).stdout.toString()).toBe("hello\n");
  // A sandbox of that name, whose commands have printed nothing.
  for (const sandbox of ["web", ids[0] ?? ""]) {
    expect((await shell.run("logs", sandbox)).code).toBe(0);
    expect(server.last.url).toMatch(/^\/v1\/sandboxes\/(web|sbx_\w+)\/executions\?limit=500$/);
  }
});

test("list asks for what is alive, and --all for every one", async () => {
  await using server = await namedServer();
  await using shell = await Shell.forServer(server);
  await shell.run("sandbox", "list");
  expect(server.last.url).toBe("/v1/sandboxes?alive=true&owner=none");
  await shell.run("machine", "list", "-a");
  expect(server.last.url).toBe("/v1/machines?owner=none");
  await shell.run("sandbox", "list", "--status", "destroyed");
  expect(server.last.url).toBe("/v1/sandboxes?status=destroyed&owner=none");
});

test("a template need not be named where there is one, or one called base", async () => {
  const named: string[] = ["python"];
  await using server = await ScriptedServer.start((response, { method }) => {
    if (method === "GET") sendJson(response, 200, { items: named.map((name) => ({ name })) });
    else sendJson(response, 201, sandboxInfo);
  });
  await using shell = await Shell.forServer(server);
  const taken = async (...words: readonly string[]): Promise<unknown> => {
    expect((await shell.run("sandbox", "create", ...words)).code).toBe(0);
    return (JSON.parse(server.last.body.toString()) as { template: unknown }).template;
  };
  expect(await taken()).toBe("python");
  named.push("base", "node");
  expect([await taken(), await taken("node"), await taken("--template", "node")]).toEqual([
    "base",
    "node",
    "node",
  ]);
  named.splice(0, 2, "ruby");
  const { code, stderr } = await shell.run("sandbox", "create");
  expect([code, stderr]).toEqual([2, expect.stringContaining("(no_template)")]);
  expect((await shell.run("sandbox", "create", "node", "--template", "ruby")).code).toBe(2);
});

test("organizations, tokens, members and hosts are found by name too, and --org takes one", async () => {
  const named: Readonly<Record<string, readonly object[]>> = {
    "/v1/orgs": [
      {
        id: "org_01kb3x0q9vt5c7r2m8n4p6w1yz",
        name: "Example Ltd",
        role: "owner",
        egress_default: "allow_all",
        created_at: "2026-11-20T16:21:09.123Z",
        allowed_private_cidrs: [],
      },
    ],
    "/v1/auth/tokens": [{ id: "tok_01kb3x0q9vt5c7r2m8n4p6w1yz", name: "ci" }],
    "/v1/orgs/org_1/members": [
      { user_id: "usr_01kb3x0q9vt5c7r2m8n4p6w1yz", name: "Ada", email: "ada@example.org" },
    ],
    "/v1/hosts": [{ id: "hst_01kb3x0q9vt5c7r2m8n4p6w1yz", name: "rack-7" }],
  };
  await using server = await ScriptedServer.start((response, { method, url }) => {
    if (url === "/v1/auth/me") return sendJson(response, 200, { organization_id: "org_1" });
    const items = named[url];
    if (items !== undefined) return sendJson(response, 200, { items, next_cursor: null });
    if (url.endsWith("_01kb3x0q9vt5c7r2m8n4p6w1yz/limits"))
      return sendJson(response, 200, { rates: {}, quotas: {}, exceptions: {} });
    if (!url.endsWith("_01kb3x0q9vt5c7r2m8n4p6w1yz")) {
      const [, , noun = "", , last] = url.split("/");
      const code =
        last === "members" ? "member" : { orgs: "organization", auth: "token", hosts: "host" }[noun];
      return sendJson(response, 404, { code: `${code}_not_found`, message: "There is none." });
    }
    return method === "DELETE"
      ? response.writeHead(204).end()
      : sendJson(response, 200, named["/v1/orgs"]?.[0]);
  });
  await using shell = await Shell.forServer(server);
  const calls: readonly (readonly [words: readonly string[], url: string])[] = [
    [["org", "show", "Example Ltd"], "/v1/orgs/org_01kb3x0q9vt5c7r2m8n4p6w1yz"],
    [["auth", "token", "revoke", "ci"], "/v1/auth/tokens/tok_01kb3x0q9vt5c7r2m8n4p6w1yz"],
    [["org", "remove-member", "Ada"], "/v1/orgs/org_1/members/usr_01kb3x0q9vt5c7r2m8n4p6w1yz"],
    [["org", "remove-member", "ada@example.org"], "/v1/orgs/org_1/members/usr_01kb3x0q9vt5c7r2m8n4p6w1yz"],
    [["org", "limits", "Example Ltd"], "/v1/orgs/org_01kb3x0q9vt5c7r2m8n4p6w1yz/limits"],
    [
      ["org", "limits", "org_01kb3", "--set", "quota_machines=1"],
      "/v1/orgs/org_01kb3x0q9vt5c7r2m8n4p6w1yz/limits",
    ],
    [["host", "remove", "rack-7"], "/v1/hosts/hst_01kb3x0q9vt5c7r2m8n4p6w1yz"],
  ];
  for (const [words, url] of calls) {
    expect([words, (await shell.run(...words)).code]).toEqual([words, 0]);
    expect(server.last.url).toBe(url);
  }
  await shell.run("auth", "token", "list", "--org", "Example Ltd");
  expect(server.last.headers["x-org-id"]).toBe("org_01kb3x0q9vt5c7r2m8n4p6w1yz");
  const { code, stderr } = await shell.run("ps", "--org", "nobody");
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^error: There is no organization "nobody"/)]);
});

test("the version has every usual spelling", async () => {
  await using shell = await Shell.open();
  const usual = (await shell.run("--version")).stdout.toString();
  expect(usual).toMatch(/^\d+\.\d+\.\d+\S*\n$/);
  for (const word of ["-v", "-V", "version"]) expect((await shell.run(word)).stdout.toString()).toBe(usual);
});

test("the version is asked for at the beginning alone: elsewhere its flag is another program's, and nothing succeeds", async () => {
  await using shell = await Shell.open();
  for (const words of [
    ["run", "-v", "./src:/src", "--", "false"],
    ["run", "--version", "--", "false"],
    ["sandbox", "exec", "web", "grep", "-v", "x"],
  ]) {
    const { code, stdout, stderr } = await shell.run(...words);
    expect([words, code, stdout.toString()]).toEqual([words, 2, ""]);
    expect(stderr).toMatch(/^error: unknown option '-v' or '--version'\n/);
  }
  expect((await shell.run("run", "-v", "./src:/src", "--", "false")).stderr).toContain("--copy-in PATH");
  expect((await shell.run("logs", "web", "--grep=-v")).stderr).not.toContain("unknown option");
  expect((await shell.run("sandbox", "exec", "web", "--", "grep", "-v", "x")).stderr).not.toContain(
    "unknown option",
  );
});

test("help follows several words, and wraps at the terminal's width", async () => {
  await using shell = await Shell.open();
  const { code, stdout } = await shell.run("help", "sandbox", "exec");
  expect([code, stdout.toString()]).toEqual([
    0,
    (await shell.run("sandbox", "exec", "--help")).stdout.toString(),
  ]);
  for (const noun of ["sandbox", "machine", "org", "host"]) {
    const [text = ""] = (await shell.run(noun, "--help")).stdout.toString().split("Examples:");
    for (const line of text.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
  }
});

test("get and show are the same deed wherever there is one of them", async () => {
  await using shell = await Shell.open();
  for (const noun of ["sandbox", "machine", "host", "org", "template"])
    for (const verb of ["get", "show"])
      expect([noun, verb, (await shell.run(noun, verb, "--help")).code]).toEqual([noun, verb, 0]);
});

test("what is misspelt is named, with what it may have been", async () => {
  await using shell = await Shell.open();
  const wrong: readonly (readonly [words: readonly string[], answer: RegExp])[] = [
    [["sandbox", "create", "--templat", "base"], /unknown option '--templat'\n\(Did you mean --template\?\)/],
    [["host", "join", "--contrl", "x"], /unknown option '--contrl'\n\(Did you mean --control\?\)/],
    [
      ["sandbox", "destory", "x"],
      /unknown command 'destory'\n\(Did you mean destroy\?\)\nIts commands: .*create.*destroy/,
    ],
    [["sandbox", "zzz"], /Its commands: .*create.*list/],
    [["sandbx"], /Did you mean sandbox\?/],
    [["zzzzzzz"], /`skerry --help` lists the commands\./],
  ];
  for (const [words, answer] of wrong) {
    const { code, stderr } = await shell.run(...words);
    expect([words, code, stderr]).toEqual([words, 2, expect.stringMatching(answer)]);
  }
});

test("with --json an error is one JSON object on standard error, whoever found it", async () => {
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 503, {
      code: "no_capacity",
      message: "Full.\u001b[2J",
      remediation: "See `GET /v1/limits`.",
      request_id: "req_1",
    }),
  );
  await using shell = await Shell.forServer(server);
  const errorOf = async (...words: readonly string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await shell.run(...words);
    expect([code === 0, stdout.toString()]).toEqual([false, ""]);
    expect(stderr).toMatch(/^\{.*\}\n$/);
    return JSON.parse(stderr);
  };
  expect(await errorOf("sandbox", "create", "base", "--json")).toEqual({
    code: "no_capacity",
    message: "Full.\u001b[2J",
    remediation: "See `skerry org limits`.",
    request_id: "req_1",
  });
  expect(await errorOf("sandbox", "list", "--json", "--nonsense")).toMatchObject({
    code: "invalid_input",
    message: expect.stringContaining("--nonsense"),
  });
  expect(await errorOf("size", "list", "--json", "--token", "")).toHaveProperty("code");
  for (const words of [
    ["sandbox", "destroy", "x", "--json"],
    ["sandbox", "exec", "--json", "x", "--", "ls"],
    ["cp", "./nothing", "x:/root", "--json"],
    ["org", "remove-member", "x", "--json"],
  ])
    expect(await errorOf(...words)).toHaveProperty("code");
  // Without -- it may be either's.
  expect((await shell.run("sandbox", "exec", "x", "npm", "ls", "--json")).code).toBe(2);
  // Behind -- it is the command's own flag.
  expect((await shell.run("sandbox", "exec", "x", "--", "ls", "--json")).stderr).toMatch(/^error: /);
});

const forbidden = { code: "forbidden", message: "The token does not have the scope.", request_id: "req_1" };

test("a token for sandboxes alone creates one of base, and sees its sandboxes in ps", async () => {
  await using server = await ScriptedServer.start((response, { method, url }) => {
    if (method === "POST") return sendJson(response, 201, sandboxInfo);
    if (!url.startsWith("/v1/sandboxes")) return sendJson(response, 403, forbidden);
    return sendJson(response, 200, { items: [sandboxInfo], next_cursor: null });
  });
  await using shell = await Shell.forServer(server);
  expect((await shell.run("sandbox", "create")).code).toBe(0);
  expect(JSON.parse(server.last.body.toString())).toMatchObject({ template: "base" });
  const { code, stdout, stderr } = await shell.run("ps");
  expect([code, stderr]).toEqual([0, "Machines are not shown: the token may not read them.\n"]);
  expect(stdout.toString()).toContain(sandboxInfo.id);
});

test("ps says so where the token may see nothing", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 403, forbidden));
  await using shell = await Shell.forServer(server);
  const { code, stderr } = await shell.run("ps");
  expect(code).toBe(1);
  expect(stderr).toContain("(forbidden)");
});
