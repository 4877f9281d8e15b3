// The scope of each call of E2B's clients: without it the answer is 403, whatever the call is about. What is another organization's is 404.

import { beforeAll, expect, test } from "vitest";
import { scopes, type NeededScope } from "@skerry/contract/organizations/scopes";
import type { GuardedOperation } from "../src/api/operation.ts";
import { e2bOperations, rpcOperations, sandboxCallOperations } from "../src/e2b/e2b-operations.ts";
import { uuidOf } from "../src/e2b/uuid-ids.ts";
import { builtTemplate } from "./support/builds.ts";
import { createE2bSandbox, type E2bSandbox, nativeId } from "./support/e2b.ts";
import { done, Members } from "./support/members.ts";
import { useWorld, type Answer } from "./support/world.ts";

type Body = Record<string, unknown>;

const world = useWorld();
let members: Members;
let stranger = "";
let sandbox: E2bSandbox;
/** What the paths name, all of it the world's. */
let named: Readonly<Record<string, string>>;

beforeAll(async () => {
  members = new Members(world);
  stranger = (await members.newMember("owner", (await members.newOrganization()).path)).secret;
  sandbox = await createE2bSandbox(world);
  await builtTemplate(world, { name: "scoped", tag: "v1", steps: [{ run: "make" }] });
  const asked = await world.call("POST", "/e2b/v3/templates", { body: { name: "scoped" } });
  const snapshot = await done(
    201,
    world.call("POST", `/v1/sandboxes/${nativeId(sandbox.sandboxID)}/snapshots`, { body: {} }),
  );
  const token = await done(201, members.mint(world.token));
  named = {
    id: sandbox.sandboxID,
    template: "scoped",
    build: String(asked.body["buildID"]),
    hash: "a".repeat(64),
    alias: "scoped",
    snapshot: String((snapshot as Body)["id"]),
    key: uuidOf(token.id),
    team: uuidOf(world.orgId),
  };
});

const all: readonly GuardedOperation[] = [
  ...Object.values(e2bOperations),
  ...rpcOperations,
  ...Object.values(sandboxCallOperations),
];
const scoped = all.flatMap(({ method, path, access }) => {
  const needed = [access.scope, access.orScope].filter((scope) => scope !== undefined && scope !== null);
  return needed.length === 0 ? [] : [[`${method} ${path}`, needed] as const];
});

const filled = (path: string) =>
  path.replaceAll(/:(\w+)(?:\([^)]*\))?/g, (_whole, name: string) => named[name] ?? "");

function send(what: string, token: string, body: Body = {}): Promise<Answer<Body>> {
  const [method = "", path = ""] = what.split(" ");
  const headers = {
    "x-api-key": token,
    "e2b-sandbox-id": sandbox.sandboxID,
    "content-type": "application/json",
  };
  return world.call(method, filled(path) + (queries[what] ?? ""), {
    token: "",
    headers,
    ...(method !== "GET" && { body }),
  });
}

test("nearly all calls need a scope", () => {
  expect(scoped.length).toBeGreaterThan(60);
});

test.each(scoped)("%s is 403 for a token that has every other scope", async (what, needed) => {
  const others = scopes.filter((scope) => scope !== "*" && !needed.includes(scope as NeededScope));
  const { token } = await done(201, members.mint(world.token, { scopes: others }));
  const before = world.host.calls.length;
  const answer = await send(what, token);
  expect(answer.status, answer.text).toBe(403);
  expect(world.host.calls.length).toBe(before);
});

/** What they lack is told before what they name. */
const bodies: Readonly<Record<string, Body>> = {
  "PATCH /e2b/templates/:template": { public: false },
  "PATCH /e2b/v2/templates/:template": { public: false },
  "POST /e2b/v2/templates/:template/builds/:build": { fromImage: "e2bdev/base", steps: [] },
};
const queries: Readonly<Record<string, string>> = {
  "GET /e2b/teams/:team/metrics/max": "?metric=concurrent_sandboxes",
};
/** A hash names files of the caller's own organization, and who asks to send some is told where to. */
const ofNobody: readonly string[] = ["GET /e2b/templates/:template/files/:hash"];

const naming = Object.values(e2bOperations)
  .map(({ method, path }) => `${method} ${path}`)
  .filter((what) => what.includes("/:") && !what.includes(":id") && !ofNobody.includes(what));

test.each(naming)("%s is 404 for another organization, and changes nothing", async (what) => {
  const before = world.host.calls.length;
  const answer = await send(what, stranger, bodies[what] ?? {});
  expect(answer.status, answer.text).toBe(404);
  expect(answer.text).not.toContain(world.orgId);
  expect(world.host.calls.length).toBe(before);
});
