// Who may do what through the paths of E2B's clients: no more than through our own.

import { join } from "node:path";
import { sql } from "kysely";
import { beforeAll, expect, test } from "vitest";
import { importsOf } from "../../../setup/import-floors.ts";
import { e2bOperations, rpcOperations, sandboxCallOperations } from "../src/e2b/e2b-operations.ts";
import { sweepAccesses } from "../src/e2b/sweep-accesses.ts";
import { buildServer } from "../src/app/server.ts";
import { createE2bSandbox, headersInto, type E2bSandbox, nativeId } from "./support/e2b.ts";
import { done, Members } from "./support/members.ts";
import { useWorld, type Answer } from "./support/world.ts";

type Body = Record<string, unknown>;

const world = useWorld();
let members: Members;
/** An owner of another organization. */
let stranger = "";
let sandbox: E2bSandbox;

beforeAll(async () => {
  members = new Members(world);
  stranger = (await members.newMember("owner", (await members.newOrganization()).path)).secret;
  sandbox = await createE2bSandbox(world);
});

const apiPaths = Object.values(e2bOperations).map(({ method, path }) => [`${method} ${path}`] as const);
const sandboxPaths = [...rpcOperations, ...Object.values(sandboxCallOperations)].map(
  ({ method, path }) => [`${method} ${path}`] as const,
);

function send(what: string, headers: Record<string, string>): Promise<Answer<Body>> {
  const [method = "", path = ""] = what.split(" ");
  const isRpc = path.includes("Process/") || path.includes("Filesystem/");
  const body = method === "POST" || method === "PUT" ? { body: isRpc ? "{}" : bodyOf(path) } : {};
  return world.call(method, path.replace(":id", sandbox.sandboxID), { token: "", headers, ...body });
}

/** What each of the paths takes. */
function bodyOf(path: string): Body {
  if (path.endsWith("/refreshes")) return { duration: 60 };
  return /\/(?:pause|snapshots|network)$/.test(path) ? {} : { timeout: 60 };
}

const hex = (token: string) => `e2b_${Buffer.from(token).toString("hex")}`;

test.each([...apiPaths, ...sandboxPaths])("%s needs a token, and one that is valid", async (what) => {
  const before = world.host.calls.length;
  const into = { "e2b-sandbox-id": sandbox.sandboxID };
  const wrong = `sk_${"A".repeat(43)}`;
  for (const key of [{}, { "x-api-key": wrong }, { "x-api-key": hex(wrong) }, { "x-api-key": "e2b_abc" }]) {
    const answer = await send(what, { ...into, ...key });
    expect(answer.status, answer.text).toBe(401);
    const isSignable = / \S*\/files$/.test(what) && Object.keys(key).length === 0;
    expect(answer.body["message"]).toContain(isSignable ? "missing signature" : "no valid API token");
  }
  expect(world.host.calls.length).toBe(before);
});

test.each(apiPaths.filter(([what]) => what.includes(":id")))(
  "%s is 404 for another organization, and changes nothing",
  async (what) => {
    const before = world.host.calls.length;
    const answer = await send(what, { "x-api-key": hex(stranger) });
    expect([answer.status, answer.body["code"]], answer.text).toEqual([404, 404]);
    expect(answer.text).not.toContain(world.orgId);
    expect(world.host.calls.length).toBe(before);
  },
);

test.each(sandboxPaths)("%s finds no sandbox of another organization", async (what) => {
  const before = world.host.calls.length;
  const headers = { "e2b-sandbox-id": sandbox.sandboxID, "x-api-key": stranger };
  const answer = await send(what, headers);
  // A stream tells it at its end, and a call that lacks what it is about is told that first.
  expect(answer.text, answer.text).not.toContain('"start"');
  expect(answer.status === 204).toBe(false);
  expect(world.host.calls.length).toBe(before);
});

test("lists of another organization are empty", async () => {
  for (const path of ["/e2b/sandboxes", "/e2b/v2/sandboxes"]) {
    const answer = await world.call("GET", path, { token: stranger });
    expect([answer.status, answer.text]).toEqual([200, "[]"]);
    expect((await world.call("GET", path)).text).toContain(sandbox.sandboxID);
  }
});

const health = "GET /e2b/sandbox/health";

test("an access token opens its own sandbox and nothing else", async () => {
  const other = await createE2bSandbox(world);
  expect((await send(health, headersInto(sandbox))).status).toBe(204);
  expect((await send(health, { ...headersInto(sandbox), "e2b-sandbox-id": other.sandboxID })).status).toBe(
    401,
  );
  expect((await send(`GET /e2b/sandboxes/${sandbox.sandboxID}`, headersInto(sandbox))).status).toBe(401);
  const asKey = { "x-api-key": sandbox.envdAccessToken };
  expect((await send(`GET /e2b/sandboxes/${sandbox.sandboxID}`, asKey)).status).toBe(401);
  expect((await send(health, { ...asKey, "e2b-sandbox-id": sandbox.sandboxID })).status).toBe(401);
});

test("an access token that was changed opens nothing", async () => {
  const { envdAccessToken: token } = sandbox;
  const organization = (await members.newOrganization()).id;
  const changed = [
    token.replace(/_org_[0-9a-z]{26}_/, `_${organization}_`),
    token.replace(/^ea_[0-9a-f]{64}/, `ea_${"0".repeat(64)}`),
    `${token.slice(0, -1)}${token.endsWith("A") ? "E" : "A"}`,
    token.slice(0, -4),
    `${token}A`,
  ];
  for (const one of changed)
    expect((await send(health, { ...headersInto(sandbox), "x-access-token": one })).status, one).toBe(401);
});

test("an access token ends with its sandbox, and with the API key that it was made with", async () => {
  const minted = await done(201, members.mint(world.token));
  const made = await world.call<E2bSandbox>("POST", "/e2b/v2/sandboxes", {
    token: minted.token,
    body: { templateID: "base" },
  });
  const headers = headersInto(made.body);
  expect((await send(health, headers)).status).toBe(204);
  await done(204, world.call("DELETE", `/v1/auth/tokens/${minted.id}`));
  expect((await send(health, headers)).status).toBe(401);
  const ended = await createE2bSandbox(world);
  await done(204, world.call("DELETE", `/v1/sandboxes/${nativeId(ended.sandboxID)}`));
  const answer = await send(health, headersInto(ended));
  expect([answer.status, answer.body["code"]]).toEqual([502, 502]);
});

test("who could sign URLs of files is forgotten with the sandbox and with the token, and no one else", async () => {
  const minted = await done(201, members.mint(world.token));
  const [ofToken, ofSandbox, living] = await Promise.all([
    world.call<E2bSandbox>("POST", "/e2b/v2/sandboxes", {
      token: minted.token,
      body: { templateID: "base" },
    }),
    createE2bSandbox(world),
    createE2bSandbox(world),
  ]);
  await done(204, world.call("DELETE", `/v1/auth/tokens/${minted.id}`));
  await done(204, world.call("DELETE", `/v1/sandboxes/${nativeId(ofSandbox.sandboxID)}`));
  await sweepAccesses(world.db, 1_000);
  const { rows } = await sql<{ sandbox_id: string }>`select sandbox_id from e2b_accesses`.execute(world.db);
  const left = rows.map(({ sandbox_id }) => sandbox_id);
  expect(left).toContain(nativeId(living.sandboxID));
  expect(left).not.toContain(nativeId(ofToken.body.sandboxID));
  expect(left).not.toContain(nativeId(ofSandbox.sandboxID));
  expect((await send(health, headersInto(living))).status).toBe(204);
});

test("a token does through an access token what its scopes are for", async () => {
  const reader = await done(201, members.mint(world.token, { scopes: ["sandboxes:read"] }));
  expect((await send("POST /e2b/sandboxes", { "x-api-key": reader.token })).status).toBe(403);
  const { body } = await world.call<E2bSandbox>("GET", `/e2b/sandboxes/${sandbox.sandboxID}`, {
    token: reader.token,
  });
  const headers = { ...headersInto(body), "content-type": "application/json" };
  expect((await send(health, headers)).status).toBe(204);
  const listed = await send("POST /e2b/sandbox/process.Process/List", headers);
  expect([listed.status, listed.body["code"]]).toEqual([403, "permission_denied"]);
});

test("what was done is in the audit log by the native action, with the sandbox and its caller", async () => {
  const made = await createE2bSandbox(world);
  const headers = { ...headersInto(made), "content-type": "application/json" };
  const rpc = (path: string, body: Body) =>
    world.call("POST", `/e2b/sandbox/${path}`, { token: "", headers, body });
  await done(200, rpc("process.Process/List", {}));
  await done(200, rpc("filesystem.Filesystem/MakeDir", { path: "/audited" }));
  await done(200, rpc("filesystem.Filesystem/Stat", { path: "/audited" }));
  await done(200, rpc("filesystem.Filesystem/ListDir", { path: "/audited" }));
  await rpc("filesystem.Filesystem/GetWatcherEvents", { watcherId: "none" });
  await done(200, rpc("filesystem.Filesystem/Remove", { path: "/audited" }));
  await done(204, world.call("DELETE", `/e2b/sandboxes/${made.sandboxID}`));
  const { body } = await world.call<{ items: { action: string; resource: { id: string | null } }[] }>(
    "GET",
    "/v1/audit?limit=20",
  );
  const actions = body.items
    .filter(({ resource }) => resource.id === nativeId(made.sandboxID))
    .map(({ action }) => action);
  const actionOf = (name: string) => rpcOperations.find(({ path }) => path.endsWith(name))?.audit.action;
  // What only reads leaves no event.
  expect(actions).toEqual(["sandbox.destroy", actionOf("/Remove"), actionOf("/MakeDir"), "sandbox.create"]);
});

test("a request that is sent again with its key creates one sandbox", async () => {
  const headers = { "idempotency-key": "of-this-test", "content-type": "application/json" };
  const body = { templateID: "base" };
  const first = await world.call<E2bSandbox>("POST", "/e2b/sandboxes", { headers, body });
  const second = await world.call<E2bSandbox>("POST", "/e2b/sandboxes", { headers, body });
  expect([first.status, second.status]).toEqual([201, 201]);
  expect(second.body.sandboxID).toBe(first.body.sandboxID);
});

test("a field that has no effect is refused by name, and so is what has no counterpart", async () => {
  const refused = await world.call("POST", "/e2b/sandboxes", { body: { templateID: "base", iam: {} } });
  expect([refused.status, refused.body]).toEqual([400, { code: 400, message: 'There is no field "iam".' }]);
  for (const network of [{ rules: { a: [{ when: "now" }] } }, { egressProxy: { address: "a:1" } }]) {
    const body = { templateID: "base", network };
    expect((await world.call("POST", "/e2b/sandboxes", { body })).status).toBe(400);
  }
  for (const path of ["volumes", "secrets", "v3/templates", "nodes", "access-tokens"])
    expect((await world.call("GET", `/e2b/${path}`)).status, path).toBe(501);
  const unknown = await world.call("GET", "/e2b/nothing");
  expect([unknown.status, unknown.body["code"]]).toEqual([404, 404]);
  const template = await world.call("POST", "/e2b/sandboxes", { body: { templateID: "none" } });
  expect([template.status, template.body["code"]]).toEqual([404, 404]);
});

test("where it is turned off there is nothing at its paths", async () => {
  await using off = await offServer();
  for (const path of ["/e2b/sandboxes", "/e2b/sandbox/health", "/e2b/volumes"]) {
    const { statusCode, body } = await off.inject(path);
    expect([statusCode, (JSON.parse(body) as Body)["code"]]).toEqual([404, "not_found"]);
  }
});

async function offServer() {
  const server = await buildServer(world.contextWith({ e2b: false }));
  return {
    inject: (url: string) => server.app.inject({ url, headers: { "x-api-key": world.token } }),
    [Symbol.asyncDispose]: () => server.stop(0),
  };
}

/** Declares paths, and what a request needs before anything answers it. */
const atStart = [
  "access-store.ts",
  "access-tokens.ts",
  "credentials.ts",
  "e2b-errors.ts",
  "e2b-operations.ts",
  "e2b-routes.ts",
  "file-signatures.ts",
  "noted-tokens.ts",
  "room.ts",
  "sandbox-ids.ts",
  "sandbox-port.ts",
  "sweep-accesses.ts",
  "sweep-archives.ts",
  "sweep-asked-builds.ts",
  "upload-right.ts",
];

test("nothing of what answers E2B's clients is loaded before the first of their requests", () => {
  const imports = importsOf(join(import.meta.dirname, "../src"));
  const ofFile = Map.groupBy(imports, ({ from }) => from);
  const isLoadedLater = ({ from, to }: { from: string; to: string }) =>
    from === "e2b/e2b-routes.ts" && !atStart.includes(to.replace("e2b/", ""));
  const reached = new Set<string>();
  const visit = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    for (const one of ofFile.get(file) ?? [])
      if (!one.isType && (one.from !== "e2b/e2b-routes.ts" || !isDynamic(one.to))) visit(one.to);
  };
  const isDynamic = (to: string) => to.startsWith("e2b/") && isLoadedLater({ from: "e2b/e2b-routes.ts", to });
  visit("app/main.ts");
  expect(reached.size).toBeGreaterThan(200);
  const ours = [...reached].filter(
    (file) => file.startsWith("e2b/") || /^@(?:connectrpc|bufbuild)/.test(file),
  );
  expect(ours.toSorted()).toEqual(atStart.map((file) => `e2b/${file}`));
});
