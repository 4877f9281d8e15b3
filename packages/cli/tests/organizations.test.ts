import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { ended, Shell } from "./support/shell.ts";

const me = {
  user_id: "usr_1",
  name: "Ada",
  email: null,
  organization_id: "org_1",
  organization_name: "Example",
  role: "admin",
  token_id: "tok_1",
  token_name: "laptop",
  scopes: ["*", "org:read"],
  expires_at: null,
};

const organization = {
  id: "org_2",
  name: "Other",
  egress_default: "deny_all",
  allowed_private_cidrs: ["10.20.0.0/16"],
  role: "owner",
  created_at: "2026-11-20T16:21:09.123Z",
};

const USER = "usr_01kb3x0q9vt5c7r2m8n4p6w1yz";

const member = {
  user_id: USER,
  name: "Bob",
  email: "bob@example.org",
  role: "member",
  created_at: "2026-11-20T16:21:09.123Z",
};

function server() {
  return ScriptedServer.start((response, { method, url }) => {
    if (method === "DELETE") return response.writeHead(204).end();
    if (url.endsWith("/tokens"))
      return sendJson(response, 201, { id: "tok_3", name: "new", expires_at: null, token: "sk_second" });
    if (url.endsWith("/me")) return sendJson(response, 200, me);
    if (url.includes("/members") && method === "POST")
      return sendJson(response, 201, { ...member, token: { id: "tok_2", token: "sk_first" } });
    if (url.endsWith("/members")) return sendJson(response, 200, { items: [member], next_cursor: null });
    if (url.includes("/members/")) return sendJson(response, 200, { ...member, role: "viewer" });
    if (url === "/v1/orgs" && method === "GET")
      return sendJson(response, 200, { items: [organization], next_cursor: null });
    return sendJson(response, method === "POST" ? 201 : 200, organization);
  });
}

async function saved(shell: Shell): Promise<unknown> {
  return JSON.parse(await readFile(join(shell.configHome, "skerry/config.json"), "utf8"));
}

/** `skerry auth login` with the token on standard input. */
async function login(shell: Shell, baseUrl: string, token = "sk_mine\n") {
  const child = shell.start("auth", "login", "--api-url", baseUrl);
  child.stdin.end(token);
  return ended(child);
}

test("login saves a token that works, whoami tells who it is, and logout forgets it", async () => {
  await using api = await server();
  await using shell = await Shell.open();
  const done = await login(shell, api.baseUrl);
  expect([done.code, done.stdout.toString(), done.stderr]).toEqual([
    0,
    "",
    `You are Ada, admin of Example, at ${api.baseUrl}.\n`,
  ]);
  expect(api.last.headers.authorization).toBe("Bearer sk_mine");
  expect(await saved(shell)).toEqual({ api_url: api.baseUrl, token: "sk_mine" });
  const who = await shell.run("auth", "whoami");
  expect(who.stdout.toString()).toBe(
    `user          usr_1 (Ada)
organization  org_1 (Example)
role          admin
token         tok_1 (laptop)
expires       never
scopes        everything that the role admin may
`,
  );
  expect(JSON.parse((await shell.run("auth", "whoami", "--json")).stdout.toString())).toEqual(me);
  const out = await shell.run("auth", "logout", "--revoke");
  expect([out.code, api.last.method, api.last.url]).toEqual([0, "DELETE", "/v1/auth/tokens/tok_1"]);
  expect(await saved(shell)).toEqual({ api_url: api.baseUrl });
  expect((await shell.run("auth", "whoami")).stderr).toContain("(no_token)");
  const asked = api.received.length;
  expect((await shell.run("auth", "logout")).code).toBe(0);
  expect(api.received.length).toBe(asked);
});

test("a token that does not work, and an empty one, are not saved", async () => {
  await using api = await ScriptedServer.start((response) =>
    sendJson(response, 401, { code: "unauthorized", message: "No." }),
  );
  await using shell = await Shell.open();
  expect((await login(shell, api.baseUrl)).code).toBe(1);
  expect((await login(shell, api.baseUrl, "\n")).code).toBe(2);
  await expect(saved(shell)).rejects.toThrow("ENOENT");
});

test("the organization to work in is chosen for the saved token alone", async () => {
  await using api = await server();
  await using shell = await Shell.open();
  expect((await shell.run("org", "use", "org_2")).stderr).toContain("(no_token)");
  await login(shell, api.baseUrl);
  expect((await shell.run("org", "use", "org_2")).code).toBe(0);
  expect(await saved(shell)).toEqual({ api_url: api.baseUrl, token: "sk_mine", organization: "org_2" });
  await shell.run("org", "list");
  expect(api.last.headers["x-org-id"]).toBe("org_2");
  await shell.run("org", "list", "--org", "org_3");
  expect(api.last.headers["x-org-id"]).toBe("org_3");
  await shell.run("org", "list", "--token", "sk_another");
  expect(api.last.headers["x-org-id"]).toBeUndefined();
  expect((await shell.run("org", "use")).code).toBe(0);
  expect(await saved(shell)).toEqual({ api_url: api.baseUrl, token: "sk_mine" });
});

test("organizations are listed, shown, made and changed", async () => {
  await using api = await server();
  await using shell = await Shell.forServer(api);
  expect((await shell.run("org", "list")).stdout.toString()).toBe(
    "ID     NAME   YOUR ROLE  EGRESS\norg_2  Other  owner      deny_all\n",
  );
  expect((await shell.run("org", "show")).stdout.toString()).toContain(
    "egress default    deny_all\nprivate networks  10.20.0.0/16\n",
  );
  expect(api.last.url).toBe("/v1/orgs/org_1");
  const shown = await shell.run("org", "show", "org_2", "--json");
  expect(JSON.parse(shown.stdout.toString())).toEqual(organization);
  const made = await shell.run("org", "create", "Other", "--egress-default", "deny_all");
  expect(made.stdout.toString()).toBe("org_2\n");
  expect(JSON.parse(api.last.body.toString())).toEqual({ name: "Other", egress_default: "deny_all" });
  await shell.run("org", "update", "org_2", "--name", "New");
  expect([api.last.method, api.last.url, api.last.body.toString()]).toEqual([
    "PATCH",
    "/v1/orgs/org_2",
    '{"name":"New"}',
  ]);
});

test("members are listed, added with a token alone on stdout, changed and removed", async () => {
  await using api = await server();
  await using shell = await Shell.forServer(api);
  expect((await shell.run("org", "members")).stdout.toString()).toMatch(
    /^USER .*\nusr_01kb3x0q9vt5c7r2m8n4p6w1yz +Bob +bob@.* +member .*\n$/,
  );
  const added = await shell.run("org", "add-member", "Bob", "--email", "bob@example.org");
  expect([added.code, added.stdout.toString()]).toEqual([0, "sk_first\n"]);
  expect(api.last.url).toBe("/v1/orgs/org_1/members");
  expect(JSON.parse(api.last.body.toString())).toEqual({
    name: "Bob",
    email: "bob@example.org",
    role: "member",
  });
  await shell.run("org", "add-member", "Cy", "--expires-in", "24h");
  expect(JSON.parse(api.last.body.toString())).toEqual({ name: "Cy", role: "member", expires_in: "24h" });
  const linked = await shell.run("org", "add-member", "Di", "--link");
  expect(linked.stdout.toString()).toBe(`${api.baseUrl}/ui/login#token=sk_first\n`);
  await shell.run("org", "add-member", USER, "--role", "viewer");
  expect(JSON.parse(api.last.body.toString())).toEqual({ user_id: USER, role: "viewer" });
  await shell.run("org", "add-member", "usr_01kb3", "--role", "viewer");
  expect(JSON.parse(api.last.body.toString())).toEqual({ user_id: USER, role: "viewer" });
  const unknown = await shell.run("org", "add-member", "usr_01kb9");
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('no user "usr_01kb9"')]);
  expect((await shell.run("org", "set-role", "usr_2", "viewer")).code).toBe(0);
  expect([api.last.method, api.last.url]).toEqual(["PATCH", "/v1/orgs/org_1/members/usr_2"]);
  expect((await shell.run("org", "remove-member", "usr_2")).code).toBe(0);
  expect([api.last.method, api.last.url]).toEqual(["DELETE", "/v1/orgs/org_1/members/usr_2"]);
});

test("an admin mints a token for a member by name, and it is alone on stdout", async () => {
  await using api = await server();
  await using shell = await Shell.forServer(api);
  const { code, stdout, stderr } = await shell.run(
    "auth",
    "token",
    "create",
    "--user",
    "Bob",
    "--name",
    "new",
  );
  expect([code, stdout.toString()]).toEqual([0, "sk_second\n"]);
  expect(stderr).toBe(`tok_3 (new) of ${USER}, valid until revoked; it is not shown again.\n`);
  expect([api.last.url, JSON.parse(api.last.body.toString())]).toEqual([
    "/v1/auth/tokens",
    { user_id: USER, name: "new" },
  ]);
  expect((await shell.run("auth", "token", "--user", "Eve")).stderr).toContain("(member_not_found)");
});

test("limits shows what is taken of each quota, and how often a token may ask", async () => {
  const limits = {
    rates: { read: { per_minute: 3000, burst: 1500 } },
    quotas: {
      sandboxes: { used: 3, limit: 100 },
      memory_mib: { used: 512, limit: 204_800 },
      disk_gib: { used: 3, limit: 2_000 },
    },
  };
  await using api = await ScriptedServer.start((response) => sendJson(response, 200, limits));
  await using shell = await Shell.forServer(api);
  const table = await shell.run("org", "limits");
  expect(table.stdout.toString()).toMatch(/memory_mib +512 MiB +200 GiB\n/);
  expect(table.stdout.toString()).toMatch(/disk_gib +3 GiB +2000 GiB\n/);
  expect(table.stdout.toString()).toMatch(/sandboxes +3 +100\n/);
  expect(table.stdout.toString()).toContain("3000 a minute, 1500 at once");
  expect(api.last.url).toBe("/v1/limits");
  expect(JSON.parse((await shell.run("org", "limits", "--json")).stdout.toString())).toEqual(limits);
});

test("limits with an id shows and sets those of any organization, for the operator", async () => {
  const limits = {
    organization_id: "org_1",
    rates: { read: { per_minute: 3000, burst: 1500 } },
    quotas: { sandboxes: { used: 3, limit: 500 } },
    exceptions: { quota_sandboxes: 500 },
  };
  await using api = await ScriptedServer.start((response) => sendJson(response, 200, limits));
  await using shell = await Shell.forServer(api);
  const shown = await shell.run("org", "limits", "org_1");
  expect(shown.stdout.toString()).toMatch(/sandboxes +3 +500 \(set for it\)\n/);
  expect([api.last.method, api.last.url]).toEqual(["GET", "/v1/orgs/org_1/limits"]);
  const set = await shell.run(
    ...["org", "limits", "org_1", "--set", "quota_sandboxes=500", "--set", "rate_read_burst=default"],
  );
  expect(set.code).toBe(0);
  expect([api.last.method, api.last.url]).toEqual(["PATCH", "/v1/orgs/org_1/limits"]);
  expect(JSON.parse(api.last.body.toString())).toEqual({ quota_sandboxes: 500, rate_read_burst: null });
  expect((await shell.run("org", "limits", "org_1", "--set", "quota_sandbox=1")).code).toBe(2);
  expect((await shell.run("org", "limits", "--set", "quota_sandboxes=1")).code).toBe(2);
});

test("an organization is deleted, and commands no longer work in it where it was chosen", async () => {
  await using api = await server();
  await using shell = await Shell.open();
  await login(shell, api.baseUrl);
  await shell.run("org", "use", "org_2");
  expect(await saved(shell)).toMatchObject({ organization: "org_2" });
  const { code, stderr } = await shell.run("org", "delete", "org_2");
  expect([code, stderr]).toEqual([0, "org_2 is deleted.\n"]);
  expect(api.last).toMatchObject({ method: "DELETE", url: "/v1/orgs/org_2" });
  expect(await saved(shell)).toEqual({ api_url: api.baseUrl, token: "sk_mine" });
});
