import { expect, test } from "vitest";
import {
  egressReport,
  sandboxInfo,
  ScriptedServer,
  sendJson,
} from "../../sdk/tests/support/scripted-server.ts";
import { Shell } from "./support/shell.ts";

const token = {
  id: "tok_1",
  name: "ci",
  user_id: "usr_1",
  scopes: ["*"],
  bound: false,
  organization_id: "org_1",
  created_at: "2026-11-20T16:21:09.123Z",
  expires_at: null,
  last_used_at: null,
};

function daysFromNow(days: number): string {
  return new Date(Date.now() + days * 24 * 60 * 60_000).toISOString();
}

function pageServer(...items: readonly unknown[]) {
  return ScriptedServer.start((response) => sendJson(response, 200, { items, next_cursor: null }));
}

test("create prints the id alone on stdout, so that a script can keep it", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 201, sandboxInfo));
  await using shell = await Shell.forServer(server);
  const flags = ["--template", "base", "--timeout", "10m", "--size", "shared-cpu-2x", "--name", "n"];
  const labels = ["--env", "A=1", "--env", "B=", "--env", "__proto__=x", "--metadata", "job=7"];
  const { code, stdout, stderr } = await shell.run("sandbox", "create", ...flags, ...labels);
  expect([code, stdout.toString()]).toEqual([0, "sbx_0\n"]);
  expect(stderr).toBe("base, shared-cpu-1x; expires 2026-11-20T16:26:09.223Z\n");
  expect(server.last.body.toString()).toBe(
    JSON.stringify({
      template: "base",
      name: "n",
      timeout: "10m",
      size: "shared-cpu-2x",
      env: { A: "1", B: "", ["__proto__"]: "x" },
      metadata: { job: "7" },
    }),
  );
  const json = await shell.run("sandbox", "create", "--template", "base", "--json");
  expect([JSON.parse(json.stdout.toString()), json.stderr]).toEqual([sandboxInfo, ""]);
  expect(JSON.parse(server.last.body.toString())).toEqual({ template: "base" });
});

test("egress flags become the egress of the request, and an allowed CIDR implies deny_all", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 201, sandboxInfo));
  await using shell = await Shell.forServer(server);
  const egressOf = async (...flags: readonly string[]): Promise<unknown> => {
    await shell.run("sandbox", "create", "--template", "base", ...flags);
    return (JSON.parse(server.last.body.toString()) as { egress: unknown }).egress;
  };
  const allow = ["--egress-allow-cidr", "10.0.0.0/8", "--egress-allow-cidr", "192.0.2.0/24"];
  expect(await egressOf(...allow, "--egress-allow-port", "443", "--egress-deny-cidr", "10.1.0.0/16")).toEqual(
    {
      mode: "deny_all",
      allow_cidrs: ["10.0.0.0/8", "192.0.2.0/24"],
      deny_cidrs: ["10.1.0.0/16"],
      allow_ports: [443],
    },
  );
  expect(await egressOf("--egress-mode", "deny_all")).toEqual({ mode: "deny_all" });
  expect(await egressOf("--egress-deny-cidr", "10.0.0.0/8")).toEqual({ deny_cidrs: ["10.0.0.0/8"] });
  expect(await egressOf("--no-egress-dns")).toEqual({ dns: false });
  expect(await egressOf("--egress-mode", "deny_all", "--egress-dns")).toEqual({
    mode: "deny_all",
    dns: true,
  });
});

test("egress shows rules, traffic and denials", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, egressReport));
  await using shell = await Shell.forServer(server);
  const shown = await shell.run("sandbox", "egress", "sbx_0");
  expect([shown.code, shown.stdout.toString()]).toEqual([
    0,
    `mode           deny_all
allowed CIDRs  192.0.2.0/24 203.0.113.0/24
allowed ports  443
DNS            no
version        2

TRAFFIC  BYTES  PACKETS
out      1200   10
in       34000  20

DENIED       PORT  PROTOCOL  RULE      PACKETS  LAST
203.0.113.9  25    tcp       port      3        2026-11-20T16:22:00.000Z
8.8.8.8      -     icmp      deny_all  1        2026-11-20T16:21:30.000Z
`,
  ]);
  expect(server.last).toMatchObject({ method: "GET", url: "/v1/sandboxes/sbx_0/egress" });
  const json = await shell.run("sandbox", "egress", "sbx_0", "--json");
  expect(JSON.parse(json.stdout.toString())).toEqual(egressReport);
});

test("egress with flags replaces the rules, and shows the new ones", async () => {
  const quiet = { ...egressReport, denied: [] };
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, quiet));
  await using shell = await Shell.forServer(server);
  const flags = ["--egress-allow-cidr", "203.0.113.0/24", "--egress-allow-port", "443", "--no-egress-dns"];
  const changed = await shell.run("sandbox", "egress", "sbx_0", ...flags);
  expect(changed.stdout.toString()).toMatch(/^mode +deny_all\n[^]*\nNothing was denied\.\n$/);
  expect(server.last).toMatchObject({ method: "PUT", url: "/v1/sandboxes/sbx_0/egress" });
  expect(JSON.parse(server.last.body.toString())).toEqual({
    mode: "deny_all",
    allow_cidrs: ["203.0.113.0/24"],
    allow_ports: [443],
    dns: false,
  });
});

test("a refusal of egress rules is shown with the entry and what to do", async () => {
  const refusal = {
    code: "invalid_cidr",
    message: '"10.0.0.1/8" in "allow_cidrs[0]" …',
    remediation: "Write …",
  };
  await using server = await ScriptedServer.start((response) => sendJson(response, 400, refusal));
  await using shell = await Shell.forServer(server);
  const { code, stdout, stderr } = await shell.run(
    "sandbox",
    "egress",
    "sbx_0",
    "--egress-allow-cidr",
    "10.0.0.1/8",
  );
  expect([code, stdout.toString()]).toEqual([2, ""]);
  expect(stderr).toContain(`error: ${refusal.message} (invalid_cidr)\n${refusal.remediation}\n`);
});

test("list prints a table, one page or every one, and --json what the API says", async () => {
  // So far away that no clock says otherwise.
  const times = { created_at: daysFromNow(-1_000), expires_at: daysFromNow(1_000) };
  await using server = await ScriptedServer.start((response, { url }) => {
    const first = !url.includes("cursor=");
    sendJson(response, 200, {
      items: [{ ...sandboxInfo, ...times, id: first ? "sbx_1" : "sbx_2", name: first ? "a\tb" : null }],
      next_cursor: first ? "more" : null,
    });
  });
  await using shell = await Shell.forServer(server);
  const page = await shell.run("sandbox", "list", "--limit", "1", "--status", "running", "--metadata", "a=b");
  expect(server.last.url).toBe("/v1/sandboxes?limit=1&status=running&owner=none&metadata.a=b");
  expect(page.stdout.toString()).toBe(
    "ID     NAME    TEMPLATE  SIZE           STATUS   CREATED     EXPIRES\n" +
      "sbx_1  a\\x09b  base      shared-cpu-1x  running  1000 d ago  in 1000 d\n",
  );
  expect(page.stderr).toContain("--all");
  const all = await shell.run("sandbox", "list", "--all", "--json");
  const { items, next_cursor } = JSON.parse(all.stdout.toString()) as {
    items: { id: string }[];
    next_cursor: unknown;
  };
  expect([items.map(({ id }) => id), next_cursor]).toEqual([["sbx_1", "sbx_2"], null]);
  await shell.run("sandbox", "list", "--host", "hst_1", "--search", "job", "--created-after", "2026-11-20");
  expect(server.last.url).toBe("/v1/sandboxes?alive=true&host=hst_1&q=job&created_after=2026-11-20");
});

test("get and keepalive show the sandbox", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, sandboxInfo));
  await using shell = await Shell.forServer(server);
  const shown = await shell.run("sandbox", "get", "sbx_0");
  expect(shown.stdout.toString()).toContain("status      running\n");
  expect(shown.stdout.toString()).not.toContain("reason");
  const json = await shell.run("sandbox", "get", "sbx_0", "--json");
  expect(JSON.parse(json.stdout.toString())).toEqual(sandboxInfo);
  const kept = await shell.run("sandbox", "keepalive", "sbx_0", "--timeout", "1h");
  expect(kept.stdout.toString()).toBe("sbx_0 expires 2026-11-20T16:26:09.223Z\n");
  expect(server.last).toMatchObject({ method: "POST", url: "/v1/sandboxes/sbx_0/keepalive" });
  expect(server.last.body.toString()).toBe('{"timeout":"1h"}');
});

test("destroy goes on after one that is not there, and then fails", async () => {
  await using server = await ScriptedServer.start((response, { url }) =>
    url.endsWith("sbx_1")
      ? sendJson(response, 404, { code: "sandbox_not_found", message: "No sbx_1." })
      : response.writeHead(204).end(),
  );
  await using shell = await Shell.forServer(server);
  const { code, stdout, stderr } = await shell.run("sandbox", "destroy", "sbx_0", "sbx_1", "sbx_2");
  expect([code, stdout.toString()]).toEqual([1, "sbx_0 destroyed\nsbx_2 destroyed\n"]);
  expect(stderr).toMatch(/^error: There is no sandbox "sbx_1"\. \(sandbox_not_found\)\n/);
});

test("auth token alone mints, and only the secret is on stdout", async () => {
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 201, { ...token, token: "sk_secret" }),
  );
  await using shell = await Shell.forServer(server);
  for (const verb of [[], ["create"]]) {
    const flags = ["--name", "ci", "--expires-in", "24h"];
    const { code, stdout } = await shell.run("auth", "token", ...verb, ...flags);
    expect([code, stdout.toString()]).toEqual([0, "sk_secret\n"]);
    expect(JSON.parse(server.last.body.toString())).toEqual({ name: "ci", expires_in: "24h" });
  }
  await shell.run("auth", "token");
  expect(server.last.body.toString()).toBe("{}");
  await shell.run("auth", "token", "--bound", "--scope", "sandboxes:read", "sandboxes:write");
  expect(JSON.parse(server.last.body.toString())).toEqual({
    scopes: ["sandboxes:read", "sandboxes:write"],
    bound: true,
  });
});

test("tokens are listed and revoked", async () => {
  await using server = await pageServer(token);
  await using shell = await Shell.forServer(server);
  expect((await shell.run("auth", "token", "list")).stdout.toString()).toMatch(
    /^ID .*\ntok_1 +ci .* never +never\n$/,
  );
  expect((await shell.run("auth", "token", "revoke", "tok_1")).code).toBe(0);
  expect(server.last).toMatchObject({ method: "DELETE", url: "/v1/auth/tokens/tok_1" });
});

test("templates and sizes are listed", async () => {
  await using sizes = await pageServer({ name: "shared-cpu-1x", vcpus: 1, memory_mib: 256, cpu: "shared" });
  await using shell = await Shell.forServer(sizes);
  expect((await shell.run("size", "list")).stdout.toString()).toBe(
    "NAME           CPUS      MEMORY\nshared-cpu-1x  1 shared  256 MiB\n",
  );
  const base = { id: "tpl_1", name: "base", description: "Debian" };
  const template = { ...base, disk_gib: 8, status: "ready", tags: [] };
  await using templates = await pageServer(template);
  await using other = await Shell.forServer(templates);
  const { stdout } = await other.run("template", "list", "--json");
  expect(JSON.parse(stdout.toString())).toEqual({ items: [template] });
  expect((await other.run("template", "list")).stdout.toString()).toContain(
    "base  -     ready   8 GiB  Debian",
  );
});

test("what cannot be right is refused with code 2 before anything is sent", async () => {
  await using server = await pageServer();
  await using shell = await Shell.forServer(server);
  const create = ["sandbox", "create", "--template", "base"];
  const wrong = [
    [],
    ["sandbox"],
    ["nonsense"],
    [...create, "extra"],
    [...create, "--nonsense"],
    [...create, "--env", "NOEQUALS"],
    [...create, "--env", "=x"],
    [...create, "--egress-mode", "some"],
    [...create, "--egress-allow-port", "65536"],
    [...create, "--egress-mode", "allow_all", "--egress-allow-cidr", "10.0.0.0/8"],
    ["sandbox", "egress"],
    ["sandbox", "egress", "sbx_0", "--no-egress-dns"],
    ["sandbox", "egress", "sbx_0", "--egress-deny-cidr", "10.0.0.0/8"],
    ["sandbox", "exec", "sbx_0"],
    ["sandbox", "exec", "sbx_0", "ls", "-la"],
    ["sandbox", "list", "--limit", "0"],
    ["sandbox", "list", "--limit", "5", "--all"],
    ["sandbox", "list", "--status", "asleep"],
    ["sandbox", "ls", "sbx_0", "relative"],
    ["sandbox", "download", "sbx_0", "/a/../b"],
    ["sandbox", "get", ".."],
    ["auth", "token", "--scope", "sandboxes:fly"],
    ["org"],
    ["org", "create"],
    ["org", "create", "x", "--egress-default", "some"],
    ["org", "set-role", "usr_1", "king"],
    ["org", "add-member", "Ada", "--role", "king"],
    ["--api-url", "nonsense", "size", "list"],
  ];
  for (const args of wrong) {
    const { code, stdout, stderr } = await shell.run(...args);
    expect([args, code, stdout.toString()]).toEqual([args, 2, ""]);
    expect(stderr, args.join(" ")).not.toBe("");
  }
  expect(server.received).toEqual([]);
});

test("every command explains itself with examples", async () => {
  await using shell = await Shell.open();
  const verbs = [
    "create",
    "list",
    "get",
    "exec",
    "upload",
    "download",
    "ls",
    "keepalive",
    "pause",
    "resume",
    "snapshot",
    "fork",
    "rollback",
    "destroy",
    "egress",
  ];
  const commands = [
    ...verbs.map((verb) => ["sandbox", verb]),
    ...["snapshot", "fork", "rollback"].map((verb) => ["machine", verb]),
    ...["create", "list", "revoke"].map((verb) => ["auth", "token", verb]),
    ...["login", "logout", "whoami"].map((verb) => ["auth", verb]),
    ...["list", "show", "create", "update", "use", "members", "add-member", "set-role", "remove-member"].map(
      (verb) => ["org", verb],
    ),
    ["template", "list"],
    ...["list", "show", "logs", "egress", "cancel", "retry"].map((verb) => ["build", verb]),
    ["size", "list"],
  ];
  for (const command of commands) {
    const { code, stdout } = await shell.run(...command, "--help");
    expect([command, code]).toEqual([command, 0]);
    expect(stdout.toString()).toMatch(/Examples:\n {2}\$ .*skerry /);
    expect(stdout.toString()).toContain("--api-url");
  }
});
