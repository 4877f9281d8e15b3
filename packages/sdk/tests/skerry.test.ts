import { inspect, promisify } from "node:util";
import { expect, test } from "vitest";
import { Skerry, SkerryApiError, SkerryConnectionError, SkerryInputError } from "../src/skerry.ts";
import {
  allOf,
  egressReport,
  exitFields,
  eventText,
  sandboxInfo,
  ScriptedServer,
  sendJson,
} from "./support/scripted-server.ts";

test("a sandbox in hand is created, used, kept alive and destroyed", async () => {
  await using server = await ScriptedServer.start((response, { method, url }) => {
    if (method === "DELETE") response.writeHead(204).end();
    else if (url.endsWith("/execute")) response.end(eventText("exit", exitFields));
    else if (url.endsWith("/keepalive")) sendJson(response, 200, { ...sandboxInfo, timeout: "1h" });
    else if (url.endsWith("/pause")) sendJson(response, 200, { ...sandboxInfo, status: "paused" });
    else sendJson(response, method === "POST" ? 201 : 200, sandboxInfo);
  });
  const skerry = new Skerry({ baseUrl: server.baseUrl, token: "sk_test", organization: "org_1" });
  {
    await using sandbox = await skerry.sandboxes.create({ template: "base", metadata: { job: "7" } });
    expect([sandbox.id, sandbox.info.status]).toEqual(["sbx_0", "running"]);
    expect(JSON.parse(JSON.stringify(sandbox))).toEqual(sandboxInfo);
    expect((await sandbox.execute("true")).exit_code).toBe(0);
    expect((await sandbox.keepalive("1h")).info.timeout).toBe("1h");
    expect((await sandbox.refresh()).info.timeout).toBe("5m");
    expect((await sandbox.pause()).info.status).toBe("paused");
    expect((await sandbox.resume()).info.status).toBe("running");
  }
  expect(server.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
    "POST /v1/sandboxes",
    "POST /v1/sandboxes/sbx_0/execute",
    "POST /v1/sandboxes/sbx_0/keepalive",
    "GET /v1/sandboxes/sbx_0",
    "POST /v1/sandboxes/sbx_0/pause",
    "POST /v1/sandboxes/sbx_0/resume",
    "DELETE /v1/sandboxes/sbx_0",
  ]);
  expect(JSON.parse(server.received[0]?.body.toString() ?? "")).toEqual({
    template: "base",
    metadata: { job: "7" },
  });
  expect(server.received.every(({ headers }) => headers["x-org-id"] === "org_1")).toBe(true);
});

test("a creation without a template says which to give, and where they are listed", async () => {
  await using server = await ScriptedServer.start((response) => sendJson(response, 201, sandboxInfo));
  const { sandboxes, machines } = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  for (const wrong of [undefined, null, {}, { template: "" }, "base"]) {
    for (const creations of [sandboxes, machines]) {
      const made = creations.create(wrong as never);
      await expect(made).rejects.toThrow(SkerryInputError);
      await expect(made).rejects.toMatchObject({
        remediation: expect.stringMatching(/create\(\{ template: "base" \}\).*templates\.list/),
      });
    }
  }
  expect(server.received).toEqual([]);
});

test("a sandbox that is printed shows what it is, and none of its environment", async () => {
  const info = { ...sandboxInfo, env: { PASSWORD: "hunter2" } };
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, info));
  const { sandboxes } = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  const printed = inspect(await sandboxes.get("sbx_0"));
  expect(printed).toMatch(/^Sandbox \{/);
  for (const said of ["id: 'sbx_0'", "status: 'running'", "template: 'base'"])
    expect(printed).toContain(said);
  expect(printed).not.toContain("hunter2");
});

test("egress rules travel with a new sandbox, are replaced while it runs, and are reported", async () => {
  await using server = await ScriptedServer.start((response, { url }) =>
    sendJson(response, 200, url.endsWith("/egress") ? egressReport : sandboxInfo),
  );
  const { sandboxes } = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  const egress = { allow_cidrs: ["203.0.113.0/24"], allow_ports: [443] };
  const sandbox = await sandboxes.create({ template: "base", egress });
  expect(await sandbox.setEgress({ mode: "deny_all", dns: true })).toEqual(egressReport);
  expect((await sandbox.egress()).denied[0]?.rule).toBe("port");
  expect(server.last.headers["if-match"]).toBeUndefined();
  await sandboxes.setEgress("sbx_0", { mode: "deny_all", dns: true }, { ifVersion: 2 });
  expect(server.last.headers["if-match"]).toBe('"2"');
  server.received.pop();
  expect(
    server.received.map(({ method, url, body }) => [
      method,
      url,
      body.toString() && JSON.parse(body.toString()),
    ]),
  ).toEqual([
    ["POST", "/v1/sandboxes", { template: "base", egress }],
    ["PUT", "/v1/sandboxes/sbx_0/egress", { mode: "deny_all", dns: true }],
    ["GET", "/v1/sandboxes/sbx_0/egress", ""],
  ]);
});

test("a list is read page by page, only as far as somebody reads, with its filters", async () => {
  await using server = await ScriptedServer.start((response, { url }) => {
    const cursor = new URL(url, "http://host").searchParams.get("cursor");
    const page = Number(cursor ?? 0);
    const items = [`sbx_${page}a`, `sbx_${page}b`].map((id) => ({ ...sandboxInfo, id }));
    sendJson(response, 200, { items, next_cursor: page === 2 ? null : String(page + 1) });
  });
  const { sandboxes } = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  const filter = { status: "running", template: "base", metadata: { "a b": "c&d" } } as const;
  const ids = (await allOf(sandboxes.list(filter))).map(({ id }) => id);
  expect(ids).toEqual(["sbx_0a", "sbx_0b", "sbx_1a", "sbx_1b", "sbx_2a", "sbx_2b"]);
  expect(server.received[1]?.url).toBe(
    "/v1/sandboxes?cursor=1&status=running&template=base&metadata.a+b=c%26d",
  );
  for await (const sandbox of sandboxes.list()) if (sandbox.id === "sbx_0b") break;
  expect(server.received).toHaveLength(4);
  const page = await sandboxes.page({ limit: 2 });
  expect([page.items.length, page.next_cursor, server.last.url]).toEqual([2, "1", "/v1/sandboxes?limit=2"]);
  expect(page).not.toHaveProperty("counts");
  await sandboxes.page({ limit: 1, counts: true });
  expect(server.last.url).toBe("/v1/sandboxes?limit=1&counts=true");
  await sandboxes.page({ host: "hst_1", q: "job", createdAfter: "2026-11-20" });
  expect(server.last.url).toBe("/v1/sandboxes?host=hst_1&q=job&created_after=2026-11-20");
});

test("tokens, templates, sizes and health are where the API has them", async () => {
  await using server = await ScriptedServer.start((response, { method }) => {
    if (method === "DELETE") response.writeHead(204).end();
    else sendJson(response, 200, { items: [], next_cursor: null, status: "healthy" });
  });
  const skerry = new Skerry({ baseUrl: `${server.baseUrl}/`, token: "sk_test" });
  expect((await skerry.health()).status).toBe("healthy");
  await skerry.tokens.create({ name: "ci", expires_in: "24h" });
  expect(JSON.parse(server.last.body.toString())).toEqual({ name: "ci", expires_in: "24h" });
  expect(await allOf(skerry.tokens.list())).toEqual([]);
  await skerry.tokens.revoke("tok_1");
  expect(await skerry.templates.list()).toEqual([]);
  await skerry.templates.get("base");
  expect(await skerry.sizes.list()).toEqual([]);
  expect(server.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
    "GET /v1/health",
    "POST /v1/auth/tokens",
    "GET /v1/auth/tokens",
    "DELETE /v1/auth/tokens/tok_1",
    "GET /v1/templates",
    "GET /v1/templates/base",
    "GET /v1/sizes",
  ]);
});

test("organizations, their members and the caller are where the API has them", async () => {
  await using server = await ScriptedServer.start((response, { method }) => {
    if (method === "DELETE") response.writeHead(204).end();
    else sendJson(response, 200, { items: [{ id: "org_1", user_id: "usr_1" }], next_cursor: null });
  });
  const skerry = new Skerry({ baseUrl: server.baseUrl, token: "sk_test", organization: "org_9" });
  const { organizations } = skerry;
  await skerry.me();
  await organizations.create({ name: "x" });
  expect((await allOf(organizations.list()))[0]?.id).toBe("org_1");
  await organizations.get("org_1");
  await organizations.update("org_1", { egress_default: "deny_all" });
  expect((await allOf(organizations.members("org_1")))[0]?.user_id).toBe("usr_1");
  await organizations.addMember("org_1", { name: "Ada", role: "viewer" });
  await organizations.updateMember("org_1", "usr_1", { role: "admin" });
  await organizations.removeMember("org_1", "usr_1");
  expect(
    server.received.map(({ method, url, body }) => [method, url, body.toString()].join(" ").trim()),
  ).toEqual([
    "GET /v1/auth/me",
    'POST /v1/orgs {"name":"x"}',
    "GET /v1/orgs",
    "GET /v1/orgs/org_1",
    'PATCH /v1/orgs/org_1 {"egress_default":"deny_all"}',
    "GET /v1/orgs/org_1/members",
    'POST /v1/orgs/org_1/members {"name":"Ada","role":"viewer"}',
    'PATCH /v1/orgs/org_1/members/usr_1 {"role":"admin"}',
    "DELETE /v1/orgs/org_1/members/usr_1",
  ]);
  expect(() => organizations.get("..")).toThrow(SkerryInputError);
});

test("an error of the API carries all that the server said", async () => {
  await using server = await ScriptedServer.start((response) => {
    response.setHeader("retry-after", "7");
    sendJson(response, 503, {
      code: "no_capacity",
      message: "No host has room.",
      remediation: "Destroy something.",
      context: { memory_mib: 256 },
      request_id: "req_1",
    });
  });
  const { sandboxes } = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  const error: unknown = await sandboxes.create({ template: "base" }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SkerryApiError);
  expect(error).toMatchObject({
    code: "no_capacity",
    status: 503,
    message: "No host has room.",
    remediation: "Destroy something.",
    context: { memory_mib: 256 },
    requestId: "req_1",
    retryAfterS: 7,
  });
});

test("an answer from something that is not Skerry says so", async () => {
  await using server = await ScriptedServer.start((response) => response.writeHead(502).end("<html>"));
  const call = new Skerry({ baseUrl: server.baseUrl, token: null }).health();
  await expect(call).rejects.toMatchObject({ code: "unexpected_response", status: 502 });
  await using other = await ScriptedServer.start((response) => response.end("<html>"));
  await expect(new Skerry({ baseUrl: other.baseUrl, token: null }).health()).rejects.toThrow(
    SkerryConnectionError,
  );
});

test("an answer without an end is read no further than any of the server's could go", async () => {
  const block = Buffer.alloc(1024 * 1024, " ");
  await using server = await ScriptedServer.start(async (response, { url }) => {
    response.writeHead(url.endsWith("/sbx_1") ? 502 : 200, { "content-type": "application/json" });
    // Ends with the first error: a response whose connection is gone counts as destroyed only after a turn of
    // the event loop, which writes that fail at once would never let come.
    for (;;) await promisify((done: (error?: Error | null) => void) => response.write(block, done))();
  });
  const skerry = new Skerry({ baseUrl: server.baseUrl, token: "sk_test", retries: 0 });
  await expect(skerry.sandboxes.get("sbx_0")).rejects.toThrow("the answer is longer than 64 MiB");
  await expect(skerry.sandboxes.get("sbx_1")).rejects.toMatchObject({
    code: "unexpected_response",
    status: 502,
  });
});

test("a redirect is not followed, so that the token goes nowhere else", async () => {
  await using server = await ScriptedServer.start((response) =>
    response.writeHead(307, { location: "/v1/elsewhere" }).end(),
  );
  const call = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" }).sizes.list();
  await expect(call).rejects.toThrow(SkerryConnectionError);
  expect(server.received).toHaveLength(1);
});

test("a server that is not there is named, with what to do", async () => {
  const server = await ScriptedServer.start(() => undefined);
  const { baseUrl } = server;
  await server[Symbol.asyncDispose]();
  const error: unknown = await new Skerry({ baseUrl, token: null })
    .health()
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SkerryConnectionError);
  expect(error).toMatchObject({ baseUrl, remediation: expect.stringContaining("skerry up") });
  expect((error as Error).message).toMatch(
    `Cannot reach Skerry at ${baseUrl} (nothing accepts connections there).`,
  );
});

test("an address or a token that cannot be one is refused without being repeated", () => {
  for (const baseUrl of ["", "localhost:7070", "ftp://host", "http://user:secret@host"])
    expect(() => new Skerry({ baseUrl, token: null }), baseUrl).toThrow(SkerryInputError);
  for (const token of ["", "sk_secret\n", "sk secret"]) {
    const make = () => new Skerry({ baseUrl: "http://127.0.0.1", token });
    expect(make).toThrow(SkerryInputError);
    expect(make).not.toThrow("secret");
  }
});

test("a fetch of the caller's own is used, and a path prefix of the address is kept", async () => {
  const urls: string[] = [];
  const skerry = new Skerry({
    baseUrl: "https://example.test/skerry/",
    token: null,
    fetch: async (input) => {
      urls.push(input as string);
      return Response.json({ status: "healthy" });
    },
  });
  await skerry.health();
  expect(urls).toEqual(["https://example.test/skerry/v1/health"]);
});
