import fastify from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hasRole, lowestRole, roles, scopes, usableScopes } from "@skerry/contract/access";
import { bindAccess, operations } from "../src/api/operations.ts";
import { World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await World.open();
});
afterAll(() => world[Symbol.asyncDispose]());

interface DocumentedOperation {
  readonly operationId: string;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly "x-required-role"?: string;
}

test("a route that the table of access does not know keeps the server from starting", () => {
  const app = fastify();
  bindAccess(app);
  const add = (operationId: string) => app.get(`/v1/${operationId}`, { schema: { operationId } }, () => "ok");
  expect(() => add("listSizes")).not.toThrow();
  for (const unknown of ["listSecrets", "", "constructor", "__proto__"]) {
    expect(() => add(unknown), unknown).toThrow("is not in api/operations.ts");
  }
});

test("every line of the table belongs to a route, and is in the OpenAPI document", () => {
  const document = JSON.parse(JSON.stringify(world.server.app.swagger())) as {
    paths: Record<string, Record<string, DocumentedOperation>>;
  };
  const documented = Object.values(document.paths).flatMap((path) => Object.values(path));
  expect(documented.map(({ operationId }) => operationId).toSorted()).toEqual(
    Object.keys(operations).toSorted(),
  );
  for (const operation of documented) {
    const line = operations[operation.operationId as keyof typeof operations];
    if (line === "public") expect(operation.security).toEqual([]);
    else {
      const needed = line.scope === null ? [] : [line.scope];
      expect(operation.security).toEqual([{ bearer: needed }, { apiKey: needed }]);
      expect(operation["x-required-role"]).toBe(line.role);
    }
  }
});

test("a call never asks for a lower role than its scope can be used with", () => {
  const lines = Object.entries(operations);
  expect(lines.length).toBeGreaterThan(15);
  for (const [name, line] of lines) {
    if (line === "public" || line.scope === null) continue;
    expect(hasRole(line.role, lowestRole[line.scope]), name).toBe(true);
  }
});

test("a role is a ceiling for every token: each may what those below it may, and a viewer only reads", () => {
  const of = (role: (typeof roles)[number], operator = true) => usableScopes(["*"], { role, operator });
  for (const [index, role] of roles.entries()) {
    const below = roles[index - 1];
    if (below !== undefined) expect([...of(role)]).toEqual(expect.arrayContaining([...of(below)]));
  }
  expect([...of("viewer")].filter((scope) => !scope.endsWith(":read")).toSorted()).toEqual([
    "*",
    "tokens:write",
  ]);
  expect([...of("owner")].toSorted()).toEqual([...scopes].toSorted());
});

test("rights over the platform count in the operator's organization only", () => {
  const elsewhere = usableScopes(["*", "platform:write"], { role: "owner", operator: false });
  for (const scope of ["platform:write", "hosts:write", "hosts:read", "metrics:read"] as const) {
    expect(elsewhere.has(scope), scope).toBe(false);
  }
  expect(elsewhere.has("org:write")).toBe(true);
});
